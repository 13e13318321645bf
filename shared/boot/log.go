package boot

import (
	"io"
	"log/slog"
)

// NewLog returns a logger that writes what Cloud Logging reads: one JSON object a line with severity and message.
func NewLog(w io.Writer, function string) *slog.Logger {
	h := slog.NewJSONHandler(w, &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) > 0 {
			return a
		}
		switch a.Key {
		case slog.LevelKey:
			return slog.String("severity", severity(a.Value.String()))
		case slog.MessageKey:
			a.Key = "message"
		}
		return a
	}})
	return slog.New(h).With("function", function)
}

// severity is Cloud Logging's name of a level.
func severity(level string) string {
	if level == slog.LevelWarn.String() {
		return "WARNING"
	}
	return level
}
