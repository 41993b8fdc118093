package wiring

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/idem-go/idem/framework/idem"
)

func TestLoggerFollowsTheConfiguration(t *testing.T) {
	var cfg idem.Config
	cfg.Log.Level, cfg.Log.Format = slog.LevelDebug, "json"
	var out bytes.Buffer
	newLogger(cfg, &out).Debug("hello")
	if !json.Valid(out.Bytes()) || !strings.Contains(out.String(), "hello") {
		t.Errorf("format json, level debug wrote %q", out.String())
	}
	out.Reset()
	cfg.Log.Level, cfg.Log.Format = slog.LevelWarn, ""
	log := newLogger(cfg, &out)
	log.Info("hidden")
	if log.Warn("seen"); strings.Contains(out.String(), "hidden") || !strings.Contains(out.String(), "seen") {
		t.Errorf("level warn wrote %q", out.String())
	}
	own := slog.New(slog.DiscardHandler)
	if NewLogger(cfg, Options{Logger: own}) != own || own.Enabled(context.Background(), slog.LevelError) {
		t.Error("the logger of the options was not used")
	}
}

func TestAProgramSaysWhatItLinks(t *testing.T) {
	cfg := idem.Config{Transport: "kafka"}
	if err := WantTransport(cfg, "sqlite"); err == nil || !strings.Contains(err.Error(), `links "sqlite" only`) {
		t.Errorf("got %v", err)
	}
	if err := WantTransport(idem.Config{}, "sqlite"); err != nil {
		t.Errorf("the default transport: %v", err)
	}
}
