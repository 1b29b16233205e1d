package inspect

// MostClasses sets how many classes of actions have a regression each, until what it returns is called.
func MostClasses(n int) (restore func()) {
	was := mostClasses
	mostClasses = n
	return func() { mostClasses = was }
}

// MostBetOn sets how many rows are bet on, until what it returns is called.
func MostBetOn(n uint64) (restore func()) {
	was := mostBetOn
	mostBetOn = n
	return func() { mostBetOn = was }
}
