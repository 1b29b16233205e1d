package cli

import (
	"bytes"
	"fmt"
	"testing"
)

// Settings of libraries are printed as flags; what is no flag stays.
func TestFlagWriter_PrintsSettingsAsFlags(t *testing.T) {
	var b bytes.Buffer
	w := flagWriter(&b, flagText{"reward-max": true, "actions": true})
	for text, want := range map[string]string{
		"see setting reward-max 2, setting actions: x": "see --reward-max 2, --actions: x",
		"give setting\n      reward-max here":          "give\n      --reward-max here",
		"setting up, resetting actions":                "setting up, resetting actions",
		`"setting actions": "setting reward-max 2"`:    `"setting actions": "--reward-max 2"`,
	} {
		t.Run(text, func(t *testing.T) {
			b.Reset()
			if n, err := fmt.Fprint(w, text); err != nil || n != len(text) || b.String() != want {
				t.Errorf("%q, %d, %v, want %q", b.String(), n, err, want)
			}
		})
	}
}

// Control characters are escaped, but for ends of lines and tabs.
func TestVisible_EscapesControlCharactersButLineEndsAndTabs(t *testing.T) {
	for text, want := range map[string]string{"plain ü\n\tand more": "plain ü\n\tand more", "a\x1b[2Jb": `a\x1b[2Jb`, "\r\x07": `\x0d\x07`, "\u009b1m": `\x9b1m`, "\x7f": `\x7f`, "be\u202ern": `be\x202ern`} {
		t.Run(text, func(t *testing.T) {
			if got := visible(text); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// What is shown to others holds no secrets of URLs.
func TestPublic_HidesWhatURLsMayHoldOfSecrets(t *testing.T) {
	for text, want := range map[string]string{
		"opl inspect 'iceberg://db/t?type=rest&uri=https://u:p@host/x&token=S&s3.secret-access-key=K' --report i.html": "opl inspect 'iceberg://db/t?type=rest&uri=…&token=…&s3.secret-access-key=…' --report i.html",
		`"s3://me:key@bucket/a b"`:           `"s3://…@bucket/a b"`,
		"s3://bucket/a.csv?region=eu: bad":   "s3://bucket/a.csv?region=eu: bad",
		"opl: iceberg://db/t?token=S: none":  "opl: iceberg://db/t?token=…: none",
		"is that so? a=b&c=d, x://y":         "is that so? a=b&c=d, x://y",
		"http://127.0.0.1:8080/choose @ 5 %": "http://127.0.0.1:8080/choose @ 5 %",
	} {
		if got := public(text); got != want {
			t.Errorf("%s\n%s, want\n%s", text, got, want)
		}
	}
}
