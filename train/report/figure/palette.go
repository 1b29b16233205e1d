package figure

import (
	"image/color"
	"math"

	"gonum.org/v1/plot/vg"
)

// Style says how a curve looks. Curves of one panel differ in colour, in dashes and in
// marker, so that any one of the three is enough to tell them apart.
type Style struct {
	Color  color.NRGBA
	Dashes []vg.Length
	Marker Marker
	Width  vg.Length // 0: as usual
	Open   bool      // marker filled with white
}

// Marker is a regular polygon: corners, turned by an angle; 0 corners: a disc,
// negative: none.
type Marker struct {
	Corners int
	Turn    float64
}

// NoMarker draws a curve without markers.
var NoMarker = Marker{Corners: -1}

var (
	disc     = Marker{}
	square   = Marker{4, math.Pi / 4}
	upward   = Marker{3, math.Pi / 2}
	downward = Marker{3, -math.Pi / 2}
	diamond  = Marker{4, 0}
	pentagon = Marker{5, math.Pi / 2}
)

// categories are styles of unordered curves: the colours of Okabe & Ito (2008),
// which readers of any colour vision tell apart, without yellow, which is too pale
// for lines on white.
var categories = []Style{
	{Color: rgb(0x0072B2), Marker: disc},
	{Color: rgb(0xD55E00), Marker: square, Dashes: []vg.Length{5, 2}},
	{Color: rgb(0x009E73), Marker: upward, Dashes: []vg.Length{1.5, 1.5}},
	{Color: rgb(0xCC79A7), Marker: diamond, Dashes: []vg.Length{6, 2, 1.5, 2}},
	{Color: rgb(0xE69F00), Marker: downward, Dashes: []vg.Length{3, 1.5}},
	{Color: rgb(0x56B4E9), Marker: pentagon, Dashes: []vg.Length{8, 2}},
}

// Categories counts the styles before [Category] takes open markers, too.
var Categories = len(categories)

// Category returns the style of the i-th of unordered curves. After the colours are
// used up they come again with open markers and other dashes.
func Category(i int) Style {
	s := categories[i%len(categories)]
	if round := i / len(categories); round > 0 {
		s.Open = round%2 == 1
		s.Dashes = categories[(i+round)%len(categories)].Dashes
	}
	return s
}

// Reference is the style of what plays.
var Reference = Style{Color: rgb(0x000000), Dashes: []vg.Length{3.5, 2.5}, Marker: NoMarker, Width: 1.1}

// Neutral is a style for what legends say of markers.
var Neutral = Style{Color: rgb(0x555555), Marker: disc}

// viridis is the colour map of that name (van der Walt & Smith, 2015) at 0, 0.1, … 1.
var viridis = []color.NRGBA{rgb(0x440154), rgb(0x482475), rgb(0x414487), rgb(0x355F8D), rgb(0x2A788E),
	rgb(0x21918C),
	rgb(0x22A884), rgb(0x44BF70), rgb(0x7AD151), rgb(0xBDDF26), rgb(0xFDE725)}

// Ordered returns the style of the i-th of n ordered curves: viridis from dark to
// 0.88, above which it is too pale for lines on white.
func Ordered(i, n int) Style {
	at := 0.0
	if n > 1 {
		at = 0.88 * float64(i) / float64(n-1) * float64(len(viridis)-1)
	}
	k := min(int(at), len(viridis)-2)
	part := at - float64(k)
	mix := func(a, b uint8) uint8 { return uint8(math.Round(float64(a)*(1-part) + float64(b)*part)) }
	a, b, s := viridis[k], viridis[k+1], categories[i%len(categories)]
	s.Color = color.NRGBA{mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B), 255}
	return s
}

func rgb(x uint32) color.NRGBA { return color.NRGBA{uint8(x >> 16), uint8(x >> 8), uint8(x), 255} }
