package logs

import (
	"fmt"
	"strings"
	"testing"
)

// A column is doubted if it holds something else than its names say: numbers in other writing, and times.
func TestOpen_DoubtsColumnsThatAreReadAsNames(t *testing.T) {
	for _, c := range []struct {
		name  string
		value func(i int) string
		says  string // "": no doubt
	}{
		{"numbers and words", func(i int) string { return []string{"1", "2", "3", "some"}[i%4] }, `numbers and the others are not, as "some"`},
		{"decimal commas", func(i int) string { return fmt.Sprintf(`"%d,5"`, i%40) }, "numbers with commas"},
		{"thousands", func(i int) string { return fmt.Sprintf(`"%d,%03d"`, 1+i%9, i) }, "numbers with commas"},
		{"blanks between thousands", func(i int) string { return fmt.Sprintf("%d\u00a0%03d", 1+i%9, i) }, "numbers with commas"},
		{"percent", func(i int) string { return fmt.Sprintf("%d%%", i%30) }, "percent"},
		{"currency", func(i int) string { return fmt.Sprintf("€%d.50", i%30) }, "currency"},
		{"days", func(i int) string { return fmt.Sprintf("2026-03-%02d", 1+i%28) }, "days or times"},
		{"days of Excel", func(i int) string { return fmt.Sprintf("%d.3.2026", 1+i%28) }, "days or times"},
		{"a few percentages", func(i int) string { return []string{"10%", "20%", "30%"}[i%3] }, ""},
		{"names", func(i int) string { return fmt.Sprintf("shop %d, floor", i%30) }, ""},
		{"millions", func(i int) string { return fmt.Sprintf("$%d,%03d,%03d.50", 1+i%13, i, i) + strings.Repeat("0", i%2) }, "currency"},
		{"lakhs", func(i int) string { return fmt.Sprintf("%d,%02d,%03d", 1+i%9, i%100, i) }, "numbers with commas"},
		{"per cent after a blank", func(i int) string { return fmt.Sprintf("-%d,5 %%", i%30) }, "percent"},
		{"telephone", func(i int) string { return fmt.Sprintf("+47 12 34 %02d 78", i%40) }, ""},
		{"telephone in threes", func(i int) string { return fmt.Sprintf("912 345 %03d", i) }, ""},
		{"telephone of a country", func(i int) string { return fmt.Sprintf("+1 555 %03d 4567", i) }, ""},
		{"cards", func(i int) string { return fmt.Sprintf("4000 1234 5678 %04d", i) }, ""},
		{"accounts", func(i int) string { return fmt.Sprintf("12-34-%02d", i%40+32) }, ""},
		{"towns", func(i int) string { return fmt.Sprintf("%d %02d", 113+i%9, i%40) }, ""},
		{"lists", func(i int) string { return fmt.Sprintf("%d,%d,%d", i%3, i%5, i%7) }, ""},
		{"beginning with nought", func(i int) string { return fmt.Sprintf("0%d %03d", i%9, i) }, ""},
		{"versions", func(i int) string { return fmt.Sprintf("1.%d.2", i%30) }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b strings.Builder
			b.WriteString("action,reward,propensity,x_a\n")
			for i := range 200 {
				value := c.value(i)
				if strings.Contains(value, ",") && value[0] != '"' {
					value = `"` + value + `"`
				}
				fmt.Fprintf(&b, "%d,1,.5,%s\n", i%2, value)
			}
			path := write(t, "l.csv", b.String())
			switch l := mustOpen(t, path, Options{}); {
			case c.says == "" && len(l.Doubts) > 0:
				t.Errorf("doubted: %q", l.Doubts)
			case c.says != "" && !strings.Contains(strings.Join(l.Doubts, "\n"), c.says):
				t.Errorf("%q do not say %q", l.Doubts, c.says)
			}
			if l := mustOpen(t, path, Options{Categories: []string{"x_a"}}); len(l.Doubts) > 0 {
				t.Errorf("names, as was said: %q", l.Doubts)
			}
		})
	}
}

// Values within objects are doubted as those of columns are, of contexts and of what rows offer, in every format; and
// so are columns of a file that was read twice, since another column began as what it is not.
func TestOpen_DoubtsFieldsThatAreReadAsNames(t *testing.T) {
	day := func(i int) string { return fmt.Sprintf(`"2026-03-%02d"`, 1+i%28) }
	price := func(i int) string { return fmt.Sprintf(`"$%d,%03d"`, 1+i%9, i) }
	plain := func(i int) string { return fmt.Sprintf(`"%d"`, i%40) }
	for _, c := range []struct {
		name  string
		line  func(i int) string
		field string
		says  string // "": no doubt
	}{
		{"days", func(i int) string { return `"context":{"b":1,"a":` + day(i) + `}` }, "a", "column a: its values are days or times, as \"2026-03-"},
		{"prices", func(i int) string { return `"context":{"shop":{"a":` + price(i) + `}}` }, "shop.a", "column shop.a: its values are numbers with commas"},
		{"of actions", func(i int) string { return `"actions":[{"id":1,"a":` + price(i) + `},{"id":0,"a":"$7.50"}]` }, "a", "numbers with commas"},
		{"quoted, as all of them are", func(i int) string { return `"context":{"a":` + plain(i) + `}` }, "a", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b strings.Builder
			for i := range 200 {
				fmt.Fprintf(&b, `{"action":%d,"reward":1,"propensity":0.5,%s}`+"\n", i%2, c.line(i))
			}
			path := write(t, "l.jsonl", b.String())
			l := mustOpen(t, path, Options{})
			if got := strings.Join(l.Doubts, "\n"); (got != "") != (c.says != "") || !strings.Contains(got, c.says) {
				t.Errorf("%q do not say %q", l.Doubts, c.says)
			}
			if l := mustOpen(t, path, Options{Categories: []string{c.field}}); len(l.Doubts) > 0 {
				t.Errorf("names, as was said: %q", l.Doubts)
			}
		})
	}
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, "%d,1,.5,%s,%s\n", i%2, day(i), map[bool]string{true: "1", false: "word"}[i == 0])
	}
	l := mustOpen(t, write(t, "l.csv", "action,reward,propensity,x_a,x_b\n"+b.String()), Options{})
	if got := strings.Join(l.Doubts, "\n"); !strings.Contains(got, "column x_a: its values are days or times") {
		t.Errorf("read twice: %q", got)
	}
}

// Groups that differ by leading zeros are two, which may be meant as one.
func TestOpen_DoubtsGroupsThatMayBeOne(t *testing.T) {
	for _, c := range []struct{ groups, says string }{{"12,7,012", `"012" and "12" are`}, {"000,0", `"000" and "0" are`}, {"DE,FR,de", `"de" and "DE" are`}, {"b1,b2,b3,b4,b5,b6,b7,b8,b9,c1,B1", ""}, {"c1,c2,c1 ,12,12.0,c 1,1.50,1.5", ""}} {
		text := "action,reward,propensity,group\n"
		for i, group := range strings.Split(c.groups, ",") {
			text += fmt.Sprintf("%d,1,.5,%s\n", i%2, group)
		}
		l := mustOpen(t, write(t, "l.csv", text), Options{})
		if got := strings.Join(l.Doubts, "\n"); (got != "") != (c.says != "") || !strings.Contains(got, c.says) {
			t.Errorf("%q: %q do not say %q", c.groups, got, c.says)
		}
	}
}

// A quote that is not closed swallows the rows up to the next one; a text of several lines is one.
func TestOpen_DoubtsValuesThatHoldRows(t *testing.T) {
	text := func(value string) string {
		return "action,reward,propensity,x_a\n" + strings.Repeat("0,1,.5,u\n1,0,.5,v\n", 5) + "0,1,.5,\"" + value + "\"\n1,0,.5,w\n"
	}
	l := mustOpen(t, write(t, "l.csv", text("u\n"+strings.Repeat("1,0,.5,v\n", 7)+"0,1,.5,v")), Options{})
	if l.Len() != 12 || len(l.Doubts) != 1 || l.Doubts[0] != "row 11: a value in quotes holds 7 lines that look like rows: a quote may not be closed" {
		t.Errorf("%d rows, %q", l.Len(), l.Doubts)
	}
	for _, value := range []string{"u", "one\ntwo\nthree, and\nfour\nfive\nsix\nseven", "1,0,.5,v\n1,0,.5,v\n"} {
		if l := mustOpen(t, write(t, "l.csv", text(value)), Options{}); len(l.Doubts) > 0 {
			t.Errorf("%q: %q", value, l.Doubts)
		}
	}
}
