package logs

import (
	"bytes"
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"unsafe"

	"github.com/go-json-experiment/json/jsontext"
)

// digits reads the decimal digits, point and exponent of a number that begins at s[at], as JSON has them, and returns
// its end. exact is false where the number is to be read by strconv, or if there is none.
//
// An integer below 2⁵³ and a power of ten up to 10²² are float64's, so that their quotient is rounded once, and
// correctly (Clinger 1990); of longer ones see quotient.
func digits(s []byte, at int) (v float64, end int, exact bool) {
	negative := at < len(s) && s[at] == '-'
	if negative {
		at++
	}
	from := at
	var m uint64
	for at < len(s) && s[at]-'0' < 10 {
		m = m*10 + uint64(s[at]-'0')
		at++
	}
	n, point := at-from, 0
	if n == 0 || n > 1 && s[from] == '0' {
		return 0, at, false
	}
	if n == 1 && m == 0 {
		n = 0
	}
	if at < len(s) && s[at] == '.' {
		at++
		first := at
		for at < len(s) && s[at]-'0' < 10 {
			m = m*10 + uint64(s[at]-'0')
			at++
		}
		if point = at - first; point == 0 {
			return 0, at, false
		}
	}
	if n+point > 19 || at < len(s) && (s[at] == 'e' || s[at] == 'E') {
		return 0, at, false
	}
	if m < 1<<53 {
		v = float64(m)
		if point > 0 {
			v /= powers[point]
		}
	} else if v, exact = quotient(m, point); !exact {
		return 0, at, false
	}
	if negative {
		v = -v
	}
	return v, at, true
}

var powers = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
	1e17, 1e18, 1e19}

// inverses are 10⁻ᵏ as 128 bits, the first of which is 1, rounded down.
var inverses = func() (all [len(powers)][2]uint64) {
	all[0][1] = 1 << 63
	ten := big.NewInt(1)
	for k := 1; k < len(all); k++ {
		ten.Mul(ten, big.NewInt(10))
		q := new(big.Int).Lsh(big.NewInt(1), uint(127+ten.BitLen()))
		q.Quo(q, ten)
		all[k] = [2]uint64{new(big.Int).And(q, new(big.Int).SetUint64(math.MaxUint64)).Uint64(), new(big.Int).Rsh(q,
			64).Uint64()}
	}
	return all
}()

// quotient is m/10ᵏ, rounded correctly, for m ≥ 2⁵³ and k < 20; false where 128 bits of 10⁻ᵏ do not tell.
// Lemire (2021), Number parsing at a gigabyte per second, section 5.
func quotient(m uint64, k int) (v float64, ok bool) {
	shift := bits.LeadingZeros64(m)
	m <<= shift
	high, low := bits.Mul64(m, inverses[k][1])
	if high&0x1ff == 0x1ff && low+m < m {
		next, rest := bits.Mul64(m, inverses[k][0])
		var carry uint64
		low, carry = bits.Add64(low, next, 0)
		if high += carry; high&0x1ff == 0x1ff && low == math.MaxUint64 && rest+m < m {
			return 0, false
		}
	}
	top := high >> 63
	mantissa := high >> (top + 9)
	if low == 0 && high&0x1ff == 0 && mantissa&3 == 1 { // in the middle
		return 0, false
	}
	mantissa = (mantissa + mantissa&1) >> 1
	exponent := (-217706*k)>>16 + 64 + 1023 - shift - int(1^top)
	if mantissa == 1<<53 {
		mantissa, exponent = mantissa>>1, exponent+1
	}
	return math.Float64frombits(uint64(exponent)<<52 | mantissa&(1<<52-1)), true
}

// jsonNumber reads a number of JSON that begins at s[at].
func jsonNumber(s []byte, at int) (v float64, end int, ok bool) {
	if v, end, ok = digits(s, at); ok {
		return v, end, true
	}
	text := s[at : len(s)-len(bytes.TrimLeft(s[at:], "+-.0123456789eE"))]
	if len(text) > 400 || !jsontext.Value(text).IsValid() {
		return 0, at, false
	}
	v, err := strconv.ParseFloat(unsafe.String(unsafe.SliceData(text), len(text)), 64)
	return v, at + len(text), err == nil
}
