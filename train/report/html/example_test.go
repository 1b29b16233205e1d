package html_test

import (
	"bytes"
	"fmt"
	"log"
	"strings"

	"opl/train/report/figure"
	"opl/train/report/html"
)

// A page of one's own.
func Example() {
	var file bytes.Buffer
	c := figure.Curve{Name: "mine", Style: figure.Category(0), X: []float64{0, 0.5, 1}, Y: []float64{0.2, 0.6, 0.7}}
	err := html.Page{
		Question: "Does it learn?", Verdict: "It does: 0.7 of all labels are right.", Tone: html.Good,
		Sections: []html.Section{{Title: "Rewards",
			Figures: []html.Figure{{Caption: "Reward by η₀.", Figure: figure.Figure{Panels: [][]*figure.Panel{{{X: "η₀", Y: "reward", Curves: []figure.Curve{c}}}}}}},
			Tables:  []html.Table{{Head: []string{"η₀", "reward"}, Rows: [][]string{{"0", "0.2"}, {"1", "0.7"}}}},
		}},
		Data: c.Y,
	}.Write(&file)
	if err != nil {
		log.Fatal(err)
	}
	_, data, _ := strings.Cut(file.String(), `id="data">`)
	data, _, _ = strings.Cut(data, "</script>")
	fmt.Println(data)
	// Output: {"question":"Does it learn?","verdict":"It does: 0.7 of all labels are right.","tone":"good","made":{"command":""},"result":[0.2,0.6,0.7]}
}
