package figure

import (
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// scripts is a text handler that sets sub- and superscripts as small characters of
// the font; its own are set too wide.
type scripts struct{ text.Handler }

func handler() text.Handler { return scripts{plot.DefaultTextHandler} }

// scripted are the characters that are set small, and how much higher than the
// base line, in parts of the size.
var scripted = map[rune]struct {
	as   rune
	rise vg.Length
}{
	'₀': {'0', -.15}, '₁': {'1', -.15}, '₂': {'2', -.15}, '₃': {'3', -.15},
	'⁻': {'−', .35}, 'ᐟ': {'/', .35}, '¹': {'1', .35}, '⁴': {'4', .35},
}

const scriptSize = .7

// piece is a part of a line in one size.
type piece struct {
	text string
	size vg.Length // of the line's
	rise vg.Length
}

func pieces(line string) (ps []piece) {
	for _, r := range line {
		p := piece{string(r), 1, 0}
		if s, ok := scripted[r]; ok {
			p = piece{string(s.as), scriptSize, s.rise}
		}
		if n := len(ps); n > 0 && ps[n-1].size == p.size && ps[n-1].rise == p.rise {
			ps[n-1].text += p.text
		} else {
			ps = append(ps, p)
		}
	}
	return ps
}

func (h scripts) Box(line string, f font.Font) (width, height, depth vg.Length) {
	for _, p := range pieces(line) {
		small := f
		small.Size *= p.size
		w, _, _ := h.Handler.Box(p.text, small)
		width += w
	}
	_, height, depth = h.Handler.Box(line, f)
	return width, height, depth
}

// Draw implements text.Handler; the arithmetic is that of gonum's text.Plain.
func (h scripts) Draw(c vg.Canvas, txt string, sty text.Style, pt vg.Point) {
	txt = strings.TrimRight(txt, "\n")
	if txt == "" {
		return
	}
	c.SetColor(sty.Color)
	if sty.Rotation != 0 {
		c.Push()
		defer c.Pop()
		c.Rotate(sty.Rotation)
	}
	sin64, cos64 := math.Sincos(sty.Rotation)
	sin, cos := vg.Length(sin64), vg.Length(cos64)
	pt.X, pt.Y = pt.Y*sin+pt.X*cos, pt.Y*cos-pt.X*sin
	lines := h.Lines(txt)
	pt.Y += sty.Height(txt)*vg.Length(sty.YAlign) - h.Extents(sty.Font).Ascent
	for i, line := range lines {
		width, _, _ := h.Box(line, sty.Font)
		at := vg.Point{X: pt.X + vg.Length(sty.XAlign)*width, Y: pt.Y + vg.Length(len(lines)-i)*sty.Font.Size}
		for _, p := range pieces(line) {
			small := sty.Font
			small.Size *= p.size
			face := h.Cache().Lookup(small, small.Size)
			c.FillString(face, vg.Point{X: at.X, Y: at.Y + p.rise*sty.Font.Size}, p.text)
			at.X += face.Width(p.text)
		}
	}
}
