package figure

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"regexp"

	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Resolutions of PNG figures.
const (
	PrintDPI  = 300
	ScreenDPI = 150
)

// render draws a picture of a size in a format. Equal pictures give equal bytes:
// nothing in them depends on the date or on installed fonts.
func render(format string, w, h vg.Length, dpi int, paint func(draw.Canvas)) ([]byte, error) {
	var c vg.CanvasWriterTo
	var sizer vg.CanvasSizer
	switch format {
	case "png":
		img := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(dpi),
			vgimg.UseBackgroundColor(color.White))}
		c, sizer = img, img
	case "svg":
		svg := vgsvg.New(w, h)
		c, sizer = svg, outlined{svg}
	case "pdf":
		pdf := vgpdf.New(w, h)
		c, sizer = pdf, straightened{outlined{pdf}}
	default:
		return nil, fmt.Errorf("figure: unknown figure format %q (known: png, svg, pdf)", format)
	}
	paint(draw.New(sizer))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return nil, fmt.Errorf("figure: %s: %w", format, err)
	}
	if format == "pdf" {
		return pdfDates.ReplaceAll(b.Bytes(), []byte("/$1 (D:20000101000000)")), nil
	}
	return b.Bytes(), nil
}

// pdfDates are the dates that a PDF carries. Their replacement is as long as they
// are, so that the file's table of offsets stays true.
var pdfDates = regexp.MustCompile(`/(CreationDate|ModDate) \(D:\d{14}\)`)

// outlined draws text as the outlines of its glyphs. A figure then looks the same
// where its fonts are not installed, and Greek letters do where PDF's Latin code
// page has none.
type outlined struct{ vg.CanvasSizer }

func (o outlined) FillString(f font.Face, pt vg.Point, s string) {
	var (
		buf   sfnt.Buffer
		ppem  = fixed.Int26_6(f.Face.UnitsPerEm())
		scale = f.Font.Size / vg.Length(ppem)
		prev  sfnt.GlyphIndex
		path  vg.Path
	)
	for i, r := range []rune(s) {
		glyph, err := f.Face.GlyphIndex(&buf, r)
		if err != nil {
			continue
		}
		if kern, err := f.Face.Kern(&buf, prev, glyph, ppem, 0); err == nil && i > 0 {
			pt.X += vg.Length(kern) * scale
		}
		if segments, err := f.Face.LoadGlyph(&buf, glyph, ppem, nil); err == nil {
			at := func(p fixed.Point26_6) vg.Point {
				return vg.Point{X: pt.X + vg.Length(p.X)*scale, Y: pt.Y - vg.Length(p.Y)*scale}
			}
			for k, g := range segments {
				switch g.Op {
				case sfnt.SegmentOpMoveTo:
					if k > 0 {
						path.Close()
					}
					path.Move(at(g.Args[0]))
				case sfnt.SegmentOpLineTo:
					path.Line(at(g.Args[0]))
				case sfnt.SegmentOpQuadTo:
					path.QuadTo(at(g.Args[0]), at(g.Args[1]))
				case sfnt.SegmentOpCubeTo:
					path.CubeTo(at(g.Args[0]), at(g.Args[1]), at(g.Args[2]))
				}
			}
			if len(segments) > 0 {
				path.Close()
			}
		}
		if w, err := f.Face.GlyphAdvance(&buf, glyph, ppem, 0); err == nil {
			pt.X += vg.Length(w) * scale
		}
		prev = glyph
	}
	if len(path) > 0 {
		o.Fill(path)
	}
}

// straightened hands colours to gonum's PDF canvas as it takes them: it reads the
// components that color.Color has multiplied by alpha as if they were not.
type straightened struct{ outlined }

func (s straightened) SetColor(c color.Color) {
	s.outlined.SetColor(straight(color.NRGBA64Model.Convert(c).(color.NRGBA64)))
}

// straight is a colour whose RGBA is not multiplied by alpha.
type straight color.NRGBA64

func (c straight) RGBA() (r, g, b, a uint32) {
	return uint32(c.R), uint32(c.G), uint32(c.B), uint32(c.A)
}

func polygon(points []vg.Point) vg.Path {
	var p vg.Path
	p.Move(points[0])
	for _, pt := range points[1:] {
		p.Line(pt)
	}
	p.Close()
	return p
}

// path is a marker of a radius around a point.
func (m Marker) path(at vg.Point, r vg.Length) vg.Path {
	if m.Corners == 0 {
		var p vg.Path
		p.Move(vg.Point{X: at.X + r, Y: at.Y})
		p.Arc(at, r, 0, 2*math.Pi)
		p.Close()
		return p
	}
	if m.Corners == 3 {
		r *= 1.2
	}
	var points []vg.Point
	for _, p := range m.Outline() {
		points = append(points, vg.Point{X: at.X + r*vg.Length(p.X), Y: at.Y + r*vg.Length(p.Y)})
	}
	return polygon(points)
}
