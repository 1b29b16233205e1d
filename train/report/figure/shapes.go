package figure

import "math"

// Shape is a part of a drawn curve, in the units of the panel's axes and within them. All that draws figures,
// files and pages alike, draws a curve's shapes in their order.
type Shape struct {
	Kind   ShapeKind
	Points []Point
	Index  int  // of the curve's point that it stands for; a Band or Line stands for several
	Open   bool // of a Mark: it is filled with white
}

// Point is a place in a panel.
type Point struct{ X, Y float64 }

// ShapeKind says what a shape is.
type ShapeKind int

// The kinds of shapes.
const (
	Band    ShapeKind = iota // a closed polygon between Low and High of joined points
	Line                     // points that are joined
	Bar                      // opposite corners, the first on the x axis
	Stretch                  // the ends of a Span: a rectangle over the whole height
	Level                    // the X of a Span: a line over the whole height
	Whisker                  // the ends of an interval around Y, up and down
	Range                    // the ends of an interval around X
	Mark                     // a marker
)

// Shapes returns what is drawn of a curve. The curve is broken where a value is missing.
func (p *Panel) Shapes(c Curve, x, y Axis) (shapes []Shape) {
	for _, run := range p.runs(c) {
		var line, lower, upper []Point
		var whiskers, marks []Shape
		add := func(i int, kind ShapeKind, points ...Point) {
			whiskers = append(whiskers, Shape{Kind: kind, Points: points, Index: i})
		}
		wide := false // somewhere between low and high
		for i := run[0]; i < run[1]; i++ {
			at := Point{c.X[i], c.Y[i]}
			if c.Kind <= Barred {
				low, high := c.endsIn(i, y)
				wide = wide || low < high
				line, lower, upper = append(line, at), append(lower, Point{at.X, low}),
					append(upper, Point{at.X, high})
				if low < high && (c.Kind == Barred || run[1] == run[0]+1) {
					add(i, Whisker, Point{at.X, low}, Point{at.X, high})
				}
			} else {
				low, high := c.endsIn(i, x)
				switch {
				case !(low <= high):
				case c.Kind == Bars:
					add(i, Bar, Point{low, 0}, Point{high, at.Y})
				case c.Kind == Span:
					add(i, Stretch, Point{low, at.Y}, Point{high, at.Y})
				default:
					add(i, Range, Point{low, at.Y}, Point{high, at.Y})
				}
				if c.Kind == Span {
					add(i, Level, at)
				}
			}
			open := c.Open
			if i < len(c.Hollow) {
				open = c.Hollow[i]
			}
			if c.Kind != Bars {
				marks = append(marks, Shape{Mark, []Point{at}, i, open})
			}
		}
		if wide && c.Kind == Joined && len(line) > 1 {
			for i := len(lower) - 1; i >= 0; i-- {
				upper = append(upper, lower[i])
			}
			shapes = append(shapes, Shape{Kind: Band, Points: upper})
		}
		if len(line) == 1 && c.Marker == NoMarker { // a level, at one x
			line = []Point{{x.Min, line[0].Y}, {x.Max, line[0].Y}}
		}
		if line != nil {
			shapes = append(shapes, Shape{Kind: Line, Points: line})
		}
		shapes = append(append(shapes, whiskers...), marks...)
	}
	return shapes
}

// runs are the stretches of a curve without missing points, [from, to).
func (p *Panel) runs(c Curve) (runs [][2]int) {
	for i := range c.Y {
		switch n := len(runs); {
		case !p.Drawn(c, i):
		case n > 0 && runs[n-1][1] == i:
			runs[n-1][1]++
		default:
			runs = append(runs, [2]int{i, i + 1})
		}
	}
	return runs
}

// Drawn reports that a point is there to be drawn.
func (p *Panel) Drawn(c Curve, i int) bool {
	return finite(c.X[i]) && finite(c.Y[i]) && (c.X[i] > 0 || !p.LogX) && (c.Y[i] > 0 || !p.LogY)
}

// Ends returns Low and High at a point, or NaN where it has no interval.
func (c Curve) Ends(i int) (low, high float64) {
	if i < len(c.Low) && i < len(c.High) && finite(c.Low[i]) && finite(c.High[i]) {
		return c.Low[i], c.High[i]
	}
	return math.NaN(), math.NaN()
}

// ends are Ends, or Y for both at a joined point without an interval.
func (c Curve) ends(i int) (low, high float64) {
	if low, high = c.Ends(i); c.Kind <= Barred && !finite(low) {
		return c.Y[i], c.Y[i]
	}
	return low, high
}

// endsIn are ends within an axis.
func (c Curve) endsIn(i int, a Axis) (low, high float64) {
	low, high = c.ends(i)
	return math.Max(a.Min, math.Min(a.Max, low)), math.Max(a.Min, math.Min(a.Max, high))
}

// Outline returns the corners of a marker of radius 1 around 0, upwards; nil of a disc, and of no marker.
func (m Marker) Outline() []Point {
	var corners []Point
	for i := range m.Corners {
		sin, cos := math.Sincos(m.Turn + 2*math.Pi*float64(i)/float64(m.Corners))
		corners = append(corners, Point{cos, sin})
	}
	return corners
}
