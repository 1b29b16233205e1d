package report

import (
	"image/color"
	"math"

	"gonum.org/v1/plot/vg"
)

// style is how a curve looks. Curves of one panel differ in colour, in dashes and
// in marker, so that any one of the three is enough to tell them apart.
type style struct {
	color  color.NRGBA
	dashes []vg.Length
	marker marker
	width  vg.Length // 0: lineWidth
	open   bool      // marker filled with white
}

// marker is a regular polygon: corners, turned by an angle; 0 corners: a disc,
// negative: none.
type marker struct {
	corners int
	turn    float64
}

var (
	noMarker = marker{corners: -1}
	disc     = marker{}
	square   = marker{4, math.Pi / 4}
	upward   = marker{3, math.Pi / 2}
	downward = marker{3, -math.Pi / 2}
	diamond  = marker{4, 0}
	pentagon = marker{5, math.Pi / 2}
)

// categories are styles of unordered curves: the colours of Okabe & Ito (2008),
// which readers of any colour vision tell apart, without yellow, which is too pale
// for lines on white.
var categories = []style{
	{color: rgb(0x0072B2), marker: disc},
	{color: rgb(0xD55E00), marker: square, dashes: []vg.Length{5, 2}},
	{color: rgb(0x009E73), marker: upward, dashes: []vg.Length{1.5, 1.5}},
	{color: rgb(0xCC79A7), marker: diamond, dashes: []vg.Length{6, 2, 1.5, 2}},
	{color: rgb(0xE69F00), marker: downward, dashes: []vg.Length{3, 1.5}},
	{color: rgb(0x56B4E9), marker: pentagon, dashes: []vg.Length{8, 2}},
}

// category returns the style of the i-th of unordered curves. After the colours are
// used up they come again with open markers and other dashes.
func category(i int) style {
	s := categories[i%len(categories)]
	if round := i / len(categories); round > 0 {
		s.open = round%2 == 1
		s.dashes = categories[(i+round)%len(categories)].dashes
	}
	return s
}

// reference is the style of the logging policy.
var reference = style{color: rgb(0x000000), dashes: []vg.Length{3.5, 2.5}, marker: noMarker, width: 1.1}

// viridis is the colour map of that name (van der Walt & Smith, 2015) at 0, 0.1, … 1.
var viridis = []color.NRGBA{rgb(0x440154), rgb(0x482475), rgb(0x414487), rgb(0x355F8D), rgb(0x2A788E), rgb(0x21918C),
	rgb(0x22A884), rgb(0x44BF70), rgb(0x7AD151), rgb(0xBDDF26), rgb(0xFDE725)}

// ordered returns the style of the i-th of n ordered curves: viridis from dark to
// 0.88, above which it is too pale for lines on white.
func ordered(i, n int) style {
	at := 0.0
	if n > 1 {
		at = 0.88 * float64(i) / float64(n-1) * float64(len(viridis)-1)
	}
	k := min(int(at), len(viridis)-2)
	part := at - float64(k)
	mix := func(a, b uint8) uint8 { return uint8(math.Round(float64(a)*(1-part) + float64(b)*part)) }
	a, b, s := viridis[k], viridis[k+1], categories[i%len(categories)]
	s.color = color.NRGBA{mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B), 255}
	return s
}

func rgb(x uint32) color.NRGBA { return color.NRGBA{uint8(x >> 16), uint8(x >> 8), uint8(x), 255} }
