package generativeai

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/generative-ai-go/genai"
	"google.golang.org/api/googleapi"

	"kesoku.dev/shared/model"
	"kesoku.dev/shared/model/internal/geminiapi"
)

// fail says what went wrong: the context's end before all else, then the provider's own error as a fault, then the network's.
func (d *Driver) fail(ctx context.Context, what, name string, err error) error {
	var (
		api     *googleapi.Error
		blocked *genai.BlockedError
		fault   *model.Fault
	)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s with %s: %w", what, name, ctx.Err())
	case errors.As(err, &fault):
		return fault
	case errors.As(err, &blocked):
		return &model.Fault{Kind: model.FaultBlocked, Detail: geminiapi.Clip(blocked.Error()), Err: err}
	case errors.As(err, &api):
		return geminiapi.ParseStatus(api.Code, []byte(api.Body)).Fault(api.Header, d.secret, geminiapi.Scrub(err, d.secret))
	default:
		return fmt.Errorf("%s with %s: %w", what, name, geminiapi.Scrub(err, d.secret))
	}
}
