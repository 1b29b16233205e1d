package cli

import (
	"context"
	"io"
	"log/slog"
	"strings"
)

// messages is a logger that writes to stderr: a line "opl: …" a message, or JSON, as slog has
// it.
func messages(form string, stderr io.Writer) *slog.Logger {
	if form == "json" {
		return slog.New(slog.NewJSONHandler(stderr, nil))
	}
	return slog.New(plain{stderr})
}

// plain writes messages without their attributes, which they say in words.
type plain struct{ io.Writer }

func (plain) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelInfo }
func (h plain) WithAttrs([]slog.Attr) slog.Handler         { return h }
func (h plain) WithGroup(string) slog.Handler              { return h }
func (h plain) Handle(_ context.Context, r slog.Record) error {
	_, err := io.WriteString(h, "opl: "+strings.Join(strings.Fields(r.Message), " ")+"\n")
	return err
}
