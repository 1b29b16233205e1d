package provenance

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"opl/policies/policyfile"
	"opl/train/logs"
)

// Reads checks whether the log has the columns that the policy reads. absent names columns that no
// row has; the policy then reads 0. Errors: the log has names where the policy reads numbers, or
// numbers where it reads names, or none of the names that the policy knows in a column, some
// differing only in capitals or blanks.
func Reads(f *policyfile.File, log *logs.Log) (absent string, err error) {
	var contexts, items []string
	for _, c := range f.Components {
		if contexts = append(contexts, c.Encoder.Names...); c.Items != nil {
			items = append(items, c.Items.Encoder.Names...)
		}
	}
	if absent, err = lacks("contexts", contexts, log.Names()); err == nil && absent == "" {
		absent, err = lacks("actions", items, log.ItemNames())
		if absent != "" && len(log.ItemNames()) == 0 {
			absent += " (give the file that describes the actions as setting catalogue)"
		}
	}
	return absent, err
}

// Codes are the columns of which a policy knows names, some of them numbers, such as postcodes that a setting made
// names, and no numbers: in a later log they are names, too. Columns of what actions are described by are called z_NAME,
// as in a catalogue, and NAME, as in rows.
func Codes(f *policyfile.File) (columns []string) {
	const named, numbered = 1, 2
	contexts, items := map[string]int{}, map[string]int{} // by column
	tell := func(of map[string]int, names []string) {
		for _, name := range names {
			column, value, is := strings.Cut(name, "=")
			if !is {
				of[column] |= numbered
			} else if _, err := strconv.ParseFloat(value, 64); err == nil {
				of[column] |= named
			}
		}
	}
	for _, c := range f.Components {
		if tell(contexts, c.Encoder.Names); c.Items != nil {
			tell(items, c.Items.Encoder.Names)
		}
	}
	codes := map[string]bool{}
	for column, is := range contexts {
		codes[column] = codes[column] || is|items[column] == named
	}
	for column, is := range items {
		codes[column] = codes[column] || is|contexts[column] == named
		codes["z_"+column] = is == named
	}
	maps.DeleteFunc(codes, func(_ string, are bool) bool { return !are })
	return slices.Sorted(maps.Keys(codes))
}

// Unread says how the log contradicts that it has the contexts by which the policy decides, or
// returns "". It asks [Reads]. If rows differ in their columns, a missing column may just be rare,
// and Unread says nothing.
func Unread(f *policyfile.File, log *logs.Log) string {
	absent, err := Reads(f, log)
	switch {
	case err != nil:
		return err.Error()
	case absent != "" && tabular(log):
		return absent + ": what is said is of the policy with 0 there"
	}
	return ""
}

// Texts says where rows of a log have texts that a policy does not know in a column of numbers that it reads: it takes
// them for missing values. Empty: nowhere.
func Texts(f *policyfile.File, log *logs.Log) string {
	reads := map[string]bool{}
	for _, c := range f.Components {
		for _, name := range c.Encoder.Names {
			reads[name] = true
		}
	}
	column, such, rows := map[uint32]string{}, map[string]string{}, map[string]int{}
	for id, name := range log.Names() {
		if of, value, is := strings.Cut(name, "="); is && reads[of] && !reads[name] {
			column[uint32(id)], such[of] = of, value
		}
	}
	if len(column) == 0 {
		return ""
	}
	for i := range log.Len() {
		ids, _ := log.Values(i)
		for _, id := range ids {
			if of, is := column[id]; is {
				rows[of]++
			}
		}
	}
	var all []string
	for _, of := range slices.Sorted(maps.Keys(rows)) {
		all = append(all, fmt.Sprintf("column %s: the policy reads numbers, and %d rows have texts, such as %q, which "+
			"count as missing", of, rows[of], such[of]))
	}
	return strings.Join(all[:min(5, len(all))], "; ")
}

// Unknown says how many names in a log's contexts a policy does not know, and of which columns it knows none; empty:
// none.
func Unknown(p *policyfile.Policy, log *logs.Log) string {
	n := len(log.Names()) - p.Inputs().Knows(log.Names())
	if n == 0 {
		return ""
	}
	text := fmt.Sprintf("the policy does not know %d of the %d names and categories in the contexts, and leaves "+
		"them out", n, len(log.Names()))
	var reads []string
	for _, c := range p.File().Components {
		reads = append(reads, c.Encoder.Names...)
	}
	if none := strange(reads, log.Names()); none != nil {
		text += "; none that it knows is in column " + strings.Join(none[:min(5, len(none))], ", ")
	}
	return text
}

// strange are the columns of names of which a policy reads some, and no row has one of these.
func strange(reads, names []string) (columns []string) {
	known := map[string]int{} // by column: 1 the log has it, 2 the policy reads it, 4 both have a name
	has := map[string]bool{}
	for _, name := range names {
		if column, _, ok := strings.Cut(name, "="); ok {
			known[column], has[name] = 1, true
		}
	}
	for _, name := range reads {
		if column, _, ok := strings.Cut(name, "="); ok && known[column] > 0 {
			if known[column] |= 2; has[name] {
				known[column] |= 4
			}
		}
	}
	for column, of := range known {
		if of == 1|2 {
			columns = append(columns, column)
		}
	}
	slices.Sort(columns)
	return columns
}

// tabular reports a log of which a row has half of the columns or more, on average.
func tabular(log *logs.Log) bool {
	columns, of := map[string]int{}, make([]int, len(log.Names()))
	for id, name := range log.Names() {
		column, _, _ := strings.Cut(name, "=")
		if _, ok := columns[column]; !ok {
			columns[column] = len(columns)
		}
		of[id] = columns[column]
	}
	last, has := slices.Repeat([]int{-1}, len(columns)), 0
	for i := range log.Len() {
		ids, _ := log.Values(i)
		for _, id := range ids {
			if c := of[id]; last[c] != i {
				last[c] = i
				has++
			}
		}
	}
	return 2*has >= len(columns)*log.Len()
}

// lacks are the columns that a policy reads and the log does not have, in a sentence.
func lacks(of string, reads, names []string) (string, error) {
	has, categories := map[string]bool{}, map[string]bool{}
	spelled := map[string]string{} // names without capitals and blanks
	plain := func(name string) string { return strings.ToLower(strings.Join(strings.Fields(name), "")) }
	for _, name := range names {
		has[name] = true
		if column, _, ok := strings.Cut(name, "="); ok {
			categories[column], spelled[plain(name)] = true, name
		}
	}
	var absent []string
	counted, alike := map[string]bool{}, map[string]bool{}
	for _, name := range reads {
		if column, _, ok := strings.Cut(name, "="); ok && has[name] {
			alike[column] = true
		}
	}
	for _, name := range reads {
		column, _, ok := strings.Cut(name, "=")
		switch {
		case ok && categories[column] && !alike[column] && spelled[plain(name)] != "":
			return "", fmt.Errorf("%s: the policy knows none of the names that the log has in column %s: it reads "+
				"%s, and the log has %s", of, column, name, spelled[plain(name)])
		case has[name] || ok && categories[column]:
			continue
		case ok && has[column]:
			return "", fmt.Errorf("%s: the policy reads names in column %s, and the log has numbers there: "+
				"setting categories %s reads them as names", of, column, column)
		case categories[name]:
			return "", fmt.Errorf("%s: the policy reads numbers in column %s, and the log has names there, such "+
				"as %s", of, name, names[slices.IndexFunc(names,
				func(s string) bool { return strings.HasPrefix(s, name+"=") })])
		}
		if !counted[column] {
			counted[column], absent = true, append(absent, column)
		}
	}
	if absent == nil {
		return "", nil
	}
	text := strings.Join(absent[:min(5, len(absent))], ", ")
	if len(absent) > 5 {
		text += ", …"
	}
	return fmt.Sprintf("%s: the log lacks %d of the columns that the policy reads: %s", of, len(absent), text), nil
}
