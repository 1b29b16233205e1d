package cloud

import (
	"context"
	"net/http"
	"os"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/trace"
)

// Tracing makes a span of OpenTelemetry of each decision that serve answers, within the trace that the request's
// traceparent names. Spans have neither contexts nor actions. They are sent by OTLP over HTTP as OpenTelemetry's
// environment variables say. Without OTEL_EXPORTER_OTLP_ENDPOINT wrap is nil, and nothing is traced. flush sends the
// last spans, for which it waits five seconds at most. What cannot be sent is told on stderr.
func Tracing(ctx context.Context) (wrap func(http.Handler) http.Handler, flush func()) {
	if os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") == "" {
		return nil, func() {}
	}
	to, err := otlptracehttp.New(ctx)
	if err != nil {
		otel.Handle(err)
		return nil, func() {}
	}
	spans := trace.NewTracerProvider(trace.WithBatcher(to))
	wrap = func(h http.Handler) http.Handler {
		return otelhttp.NewHandler(h, "decide", otelhttp.WithTracerProvider(spans),
			otelhttp.WithPropagators(propagation.TraceContext{}),
			otelhttp.WithFilter(func(r *http.Request) bool { return r.URL.Path == "/decide" }))
	}
	return wrap, func() {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		_ = spans.Shutdown(ctx)
	}
}
