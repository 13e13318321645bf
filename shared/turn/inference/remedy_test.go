package inference_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/locale"
	"kesoku.dev/shared/model"
	"kesoku.dev/shared/turn/inference"
)

// cases B53, B54, B55, B57: what is done about each fault, the first time and after several.
func TestRemedyFor(t *testing.T) {
	t.Parallel()
	fault := func(kind model.FaultKind, after time.Duration) error {
		return fmt.Errorf("call: %w", &model.Fault{Kind: kind, RetryAfter: after})
	}
	again := func(after time.Duration, why locale.Reason) inference.Remedy {
		return inference.Remedy{Do: inference.Again, After: after, Reason: why}
	}
	fail := func(why locale.Reason) inference.Remedy { return inference.Remedy{Do: inference.Fail, Reason: why} }
	for name, tt := range map[string]struct {
		err  error
		n    int
		want inference.Remedy
	}{
		"blocked":                       {fault(model.FaultBlocked, 0), 0, inference.Remedy{Do: inference.Refuse, Reason: "blocked"}}, // case B55
		"blocked again":                 {fault(model.FaultBlocked, 0), 9, inference.Remedy{Do: inference.Refuse, Reason: "blocked"}},
		"malformed call":                {fault(model.FaultMalformedCall, 0), 0, again(0, locale.ReasonMalformed)}, // case B53
		"malformed call, second":        {fault(model.FaultMalformedCall, 0), 1, again(0, locale.ReasonMalformed)},
		"malformed call, third":         {fault(model.FaultMalformedCall, 0), 2, fail(locale.ReasonMalformed)},
		"empty":                         {fault(model.FaultEmpty, 0), 0, again(0, "empty")}, // case B54
		"empty, third":                  {fault(model.FaultEmpty, 0), 2, fail("empty")},
		"rate limit, delay named":       {fault(model.FaultRateLimited, 54*time.Second), 0, again(54*time.Second, locale.ReasonRateLimited)}, // case B57
		"rate limit, short delay":       {fault(model.FaultRateLimited, time.Second), 0, again(5*time.Second, locale.ReasonRateLimited)},
		"rate limit, no delay":          {fault(model.FaultRateLimited, 0), 0, again(5*time.Second, locale.ReasonRateLimited)},
		"rate limit, third":             {fault(model.FaultRateLimited, 0), 2, again(20*time.Second, locale.ReasonRateLimited)},
		"rate limit, for ever":          {fault(model.FaultRateLimited, 0), 100, again(160*time.Second, locale.ReasonRateLimited)},
		"rate limit, an hour":           {fault(model.FaultRateLimited, time.Hour), 0, again(time.Hour, locale.ReasonRateLimited)},
		"overloaded":                    {fault(model.FaultOverloaded, 0), 0, again(2*time.Second, locale.ReasonOverloaded)},
		"overloaded, delay named":       {fault(model.FaultOverloaded, 9*time.Second), 1, again(9*time.Second, locale.ReasonOverloaded)},
		"context":                       {fault(model.FaultContext, 0), 0, fail(locale.ReasonContext)},
		"credentials":                   {fault(model.FaultCredentials, 0), 0, fail(locale.ReasonCredentials)},
		"request":                       {fault(model.FaultRequest, 0), 0, fail(locale.ReasonRequest)},
		"unsupported":                   {fault(model.FaultUnsupported, 0), 0, fail(locale.ReasonUnsupported)},
		"a kind that nobody knows":      {fault("melted", time.Second), 0, fail(locale.ReasonInternal)},
		"network":                       {errors.New("connection reset"), 0, again(time.Second, locale.ReasonOverloaded)},
		"network, third":                {errors.New("connection reset"), 2, again(4*time.Second, locale.ReasonOverloaded)},
		"one call's own time is over":   {context.DeadlineExceeded, 0, again(time.Second, locale.ReasonOverloaded)},
		"permanent and no fault":        {errs.Permanentf("history is not sound"), 0, fail(locale.ReasonInternal)},
		"permanent around a rate limit": {errs.Permanent(fault(model.FaultRateLimited, 0)), 0, again(5*time.Second, locale.ReasonRateLimited)},
	} {
		if got := inference.RemedyFor(tt.err, tt.n); got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
}
