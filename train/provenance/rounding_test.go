package provenance

import (
	"math"
	"math/rand/v2"
	"testing"

	"opl/policies/policyfile"
)

// Rounding is to the bit what it was when the files that hold its hashes were written: of numbers of all sizes, near halves
// and near powers of ten.
func TestRounding_IsThatOfOldFiles(t *testing.T) {
	plain := func(x float64, digits, decimals int) float64 {
		abs := math.Abs(x)
		if !(abs >= 1e-270 && abs < 1e270) {
			return 0
		}
		step := -1 << 30
		if digits > 0 {
			e := int(math.Floor(float64(int(math.Float64bits(abs)>>52)-1023) * math.Log10E * math.Ln2))
			if abs >= math.Pow10(e+1) {
				e++
			}
			step = e - digits + 1
		}
		if decimals > 0 {
			step = max(step, -decimals)
		}
		return math.Round(x*math.Pow10(-step)) / math.Pow10(-step)
	}
	r := rand.New(rand.NewPCG(1, 2))
	x := []float64{0, math.Copysign(0, -1), math.Inf(1), math.NaN(), math.MaxFloat64, 5e-324, 1e-270, 1e270, 0.5, 1.5, 2.5, 0.49999999999999994, 1 << 52, 1<<53 + 2, 4503599627370495.5, 9999.5, 0.00005}
	for i := range 200_000 {
		v := r.NormFloat64() * math.Pow10(r.IntN(13)-6)
		switch i % 4 {
		case 1:
			v = math.Float64frombits(r.Uint64())
		case 2:
			v = (float64(r.IntN(20_000)) + 0.5) / math.Pow10(r.IntN(9))
		case 3:
			v = math.Nextafter(math.Pow10(r.IntN(40)-20), float64(r.IntN(3)-1)*math.MaxFloat64)
		}
		x = append(x, v, -v)
	}
	for _, w := range append(kinds[1:6:6], policyfile.Fingerprints{Decimals: 3}) {
		got := append([]float64{}, x...)
		rounding(w.Digits, w.Decimals)(got)
		for i, v := range x {
			if want := plain(v, w.Digits, w.Decimals); math.Float64bits(got[i]+0) != math.Float64bits(want+0) {
				t.Fatalf("%d digits, %d decimals: %v is %v, want %v", w.Digits, w.Decimals, v, got[i], want)
			}
		}
	}
}
