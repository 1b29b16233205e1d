package kernel

import (
	"math"
	"math/big"
	"testing"
)

// reference values of the normal distribution, computed with mpmath 1.3.0 in
// 60 digits: Φ by erfc, log Φ by log1p above 5, below −500 both log Φ and r by
// 60 terms of the continued fraction. A 0 in Φ or φ stands for "too small".
var reference = []struct{ x, cdf, logCDF, pdf, invMills float64 }{
	{-1e8, 0, -5000000000000019.34, 0, 100000000.00000001},
	{-1e4, 0, -50000010.1292789152, 0, 10000.000099999998},
	{-1000, 0, -500007.826694812184, 0, 1000.00099999800001},
	{-100, 0, -5005.52420869420509, 0, 100.009998000999261},
	{-40, 0, -804.608442013753788, 0, 40.0249688472072637},
	{-38.5, 0, -745.695270290411081, 0, 38.5259390968544937},
	{-37.51, 0, -708.044305570857475, 0, 37.536621795814556},
	{-20, 2.7536241186062337e-89, -203.917155371097264, 5.52094836215976319e-88, 20.0497530685278505},
	{-10, 7.61985302416052607e-24, -53.2312851505124706, 7.69459862670641935e-23, 10.098093233962512},
	{-8.25, 7.91972631464247734e-17, -37.0745899319015329, 6.62713745596875154e-16, 8.36788696058358988},
	{-6.001, 9.80529954443843598e-10, -20.7429279205865927, 6.03953368044395708e-9, 6.15945862038409569},
	{-6, 9.86587645037698141e-10, -20.7367689499747057, 6.07588284982328549e-9, 6.15848260454459892},
	{-5.999, 9.92681791028903811e-10, -20.7306109553751816, 6.11244467565070676e-9, 6.15750659565863977},
	{-5, 2.86651571879193912e-7, -15.0649983939887257, 1.48671951473429771e-6, 5.18650396712584212},
	{-3.3, 0.000483424142383777507, -7.63461614807112729, 0.00172256893905368115, 3.56326626667763669},
	{-2, 0.0227501319481792072, -3.78318433368203195, 0.053990966513188052, 2.37321553282284087},
	{-1, 0.158655253931457051, -1.84102164500926351, 0.24197072451914335, 1.52513527616098121},
	{-0.7, 0.241963652223073029, -1.41896776153153158, 0.312253933366761267, 1.29049933945816651},
	{-0.1, 0.460172162722971016, -0.776154592730273326, 0.396952547477011765, 0.862617471530936144},
	{0, 0.5, -0.693147180559945309, 0.398942280401432678, 0.797884560802865356},
	{1e-10, 0.500000000039894228, -0.693147180480156853, 0.398942280401432678, 0.797884560739203379},
	{0.1, 0.539827837277028984, -0.616505010115026289, 0.396952547477011765, 0.735331748505780665},
	{0.5, 0.691462461274013104, -0.368946415288656393, 0.352065326764299478, 0.509160433837033486},
	{1, 0.841344746068542949, -0.17275377902344989, 0.24197072451914335, 0.287599970939178361},
	{2, 0.977249868051820793, -0.0230129093289634885, 0.053990966513188052, 0.0552478626789899591},
	{3, 0.998650101968369905, -0.0013508099647481938, 0.00443184841193800718, 0.00443783904212566379},
	{4.7, 0.999998699192546083, -1.30080829996803071e-6, 6.36982517886709548e-6, 6.3698334647939467e-6},
	{5, 0.999999713348428121, -2.86651612963763593e-7, 1.48671951473429771e-6, 1.48671994090490571e-6},
	{6, 0.999999999013412355, -9.86587645524375732e-10, 6.07588284982328549e-9, 6.07588285581767645e-9},
	{6.3, 0.999999999851177178, -1.48822822187305383e-10, 9.6014333703123345e-10, 9.60143337174124691e-10},
	{8, 0.999999999999999378, -6.22096057427178606e-16, 5.05227108353689229e-15, 5.05227108353689543e-15},
	{8.4, 0.999999999999999978, -2.23239319728804361e-17, 1.90108153790796027e-16, 1.90108153790796032e-16},
	{8.49, 0.99999999999999999, -1.03318549861686275e-17, 8.89027557798727237e-17, 8.89027557798727246e-17},
	{8.51, 0.999999999999999991, -8.69666772689606446e-18, 7.50041271499396826e-17, 7.50041271499396832e-17},
	{10, 1, -7.61985302416052607e-24, 7.69459862670641935e-23, 7.69459862670641935e-23},
	{20, 1, -2.7536241186062337e-89, 5.52094836215976319e-88, 5.52094836215976319e-88},
	{37, 1, -5.72557122252457682e-300, 2.12000655152460563e-298, 2.12000655152460563e-298},
}

// apart is |x−y|/|y|, 0 where the two are the same (infinities included).
func apart(x, y float64) float64 {
	if x == y {
		return 0
	}
	return math.Abs(x-y) / math.Abs(y)
}

func TestNormal_EqualsReferenceValues(t *testing.T) {
	for _, r := range reference {
		check := func(name string, got, want, tol float64) {
			if !(apart(got, want) <= tol) {
				t.Errorf("%s(%v) = %.17g, want %.17g (relative error %.1e)", name, r.x, got, want, apart(got, want))
			}
		}
		if r.cdf > 0 {
			check("NormCDF", NormCDF(r.x), r.cdf, 1.5e-15)
		} else if p := NormCDF(r.x); !(p >= 0 && p < 1e-300) {
			t.Errorf("NormCDF(%v) = %v", r.x, p)
		}
		if r.pdf > 0 {
			check("NormPDF", NormPDF(r.x), r.pdf, 1e-15)
			check("LogNormPDF", LogNormPDF(r.x), math.Log(r.pdf), 1e-14)
		}
		check("LogNormCDF", LogNormCDF(r.x), r.logCDF, 2e-15)
		check("InvMills", InvMills(r.x), r.invMills, 1.5e-15)
	}
}

// bigCDF returns Φ(x), −6.5 ≤ x ≤ 0, from the convergent series
// ½ + φ(x) Σ x^{2n+1}/(1·3·…·(2n+1)) in 300 bits.
func bigCDF(x float64) *big.Float {
	f := func(v float64) *big.Float { return new(big.Float).SetPrec(300).SetFloat64(v) }
	mul := func(a, b *big.Float) *big.Float { return new(big.Float).SetPrec(300).Mul(a, b) }
	half := mul(mul(f(x), f(x)), f(0.5)) // x²/2
	term, sum := f(x), f(x)
	exp, e := f(1), f(1) // exp(x²/2)
	for n := 1; n < 300; n++ {
		term = mul(term, mul(f(x), f(x)))
		term.Quo(term, f(float64(2*n+1)))
		sum.Add(sum, term)
		e = mul(e, half)
		e.Quo(e, f(float64(n)))
		exp.Add(exp, e)
	}
	pi, _, _ := big.ParseFloat("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803", 10, 300, big.ToNearestEven)
	root := new(big.Float).SetPrec(300).Sqrt(mul(pi, f(2)))
	sum.Quo(sum, mul(exp, root))
	return sum.Add(sum, f(0.5))
}

// The whole table, off the centres of its cells, against 300-bit arithmetic.
func TestNormCDF_AgreesWith300BitArithmetic(t *testing.T) {
	worst, at := 0.0, 0.0
	for x := -6.45; x <= 0; x += 0.01137 {
		want, _ := bigCDF(x).Float64()
		for _, s := range []struct{ got, want float64 }{
			{NormCDF(x), want}, {NormCDF(-x), 1 - want}, {LogNormCDF(x), math.Log(want)}, {LogNormCDF(-x), math.Log1p(-want)},
		} {
			if e := apart(s.got, s.want); e > worst {
				worst, at = e, x
			}
		}
	}
	t.Logf("worst relative error %.1e at ±%v", worst, at)
	if worst > 2e-15 {
		t.Errorf("worst relative error %.1e at ±%v", worst, at)
	}
}

// Where one formula takes over from another, values must join, but for the
// slope: two ulp of x are up to 2x² ulp of the value.
func TestNormal_JoinsItsFormulas(t *testing.T) {
	for _, x := range []float64{-39, tableLow, 0, -tableLow, tableHigh, 39} {
		lo, hi := math.Nextafter(x, -100), math.Nextafter(x, 100)
		for name, f := range map[string]func(float64) float64{"NormCDF": NormCDF, "LogNormCDF": LogNormCDF, "InvMills": InvMills, "NormPDF": NormPDF} {
			a, b := f(lo), f(hi)
			if math.Abs(a-b) > 1e-300 && apart(a, b) > 5e-15+4*x*x*0x1p-53 {
				t.Errorf("%s jumps at %v: %.17g, %.17g", name, x, a, b)
			}
		}
	}
}

// r is the derivative of log Φ, and −r(x+r) that of r.
func TestInvMills_IsTheDerivativeOfLogNormCDF(t *testing.T) {
	for x := -60.0; x < 12; x += 0.37 {
		const h = 1e-4
		r := InvMills(x)
		if d := (LogNormCDF(x+h) - LogNormCDF(x-h)) / (2 * h); math.Abs(d-r) > 1e-6*math.Max(r, 1e-3) {
			t.Errorf("derivative of log Φ at %v: %v, InvMills %v", x, d, r)
		}
		if d := (InvMills(x+h) - InvMills(x-h)) / (2 * h); math.Abs(d+r*(x+r)) > 1e-6 {
			t.Errorf("derivative of r at %v: %v, want %v", x, d, -r*(x+r))
		}
	}
}

func TestNormal_IsRightAtExtremes(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"NormCDF(-Inf)", NormCDF(-inf), 0}, {"NormCDF(Inf)", NormCDF(inf), 1},
		{"NormCDF(-1e300)", NormCDF(-1e300), 0}, {"NormCDF(1e300)", NormCDF(1e300), 1},
		{"NormPDF(-Inf)", NormPDF(-inf), 0}, {"NormPDF(Inf)", NormPDF(inf), 0},
		{"LogNormPDF(Inf)", LogNormPDF(inf), -inf},
		{"LogNormCDF(-Inf)", LogNormCDF(-inf), -inf}, {"LogNormCDF(Inf)", LogNormCDF(inf), 0},
		{"LogNormCDF(-1e150)", LogNormCDF(-1e150), -1e150 * 1e150 / 2},
		{"InvMills(-Inf)", InvMills(-inf), inf}, {"InvMills(Inf)", InvMills(inf), 0},
		{"InvMills(-1e300)", InvMills(-1e300), 1e300}, {"InvMills(1e8)", InvMills(1e8), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if apart(c.got, c.want) > 1e-15 {
				t.Errorf("%s = %v, want %v", c.name, c.got, c.want)
			}
		})
	}
	for name, f := range map[string]func(float64) float64{
		"NormCDF": NormCDF, "NormPDF": NormPDF, "LogNormCDF": LogNormCDF, "LogNormPDF": LogNormPDF, "InvMills": InvMills,
	} {
		t.Run(name, func(t *testing.T) {
			if !math.IsNaN(f(math.NaN())) {
				t.Errorf("%s(NaN) = %v", name, f(math.NaN()))
			}
		})
	}
}

var sink float64

// BenchmarkNormCDF has math.Erfc as its reference.
func BenchmarkNormCDF(b *testing.B) {
	xs := make([]float64, 1024)
	for i := range xs {
		xs[i] = -6 + 14*float64(i*389%1024)/1024
	}
	for _, c := range []struct {
		name string
		f    func(float64) float64
	}{
		{"NormCDF", NormCDF}, {"LogNormCDF", LogNormCDF}, {"InvMills", InvMills}, {"NormPDF", NormPDF},
		{"reference=erfc", func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }},
	} {
		b.Run(c.name, func(b *testing.B) {
			for i := range b.N {
				sink += c.f(xs[i%1024])
			}
		})
	}
}
