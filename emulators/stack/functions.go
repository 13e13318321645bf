package stack

import (
	"fmt"

	"github.com/GoogleCloudPlatform/functions-framework-go/funcframework"

	"kesoku.dev/shared/bus"

	// The functions register themselves by name.
	_ "kesoku.dev/functions/cron"
	_ "kesoku.dev/functions/deliver"
	_ "kesoku.dev/functions/googlechat"
	_ "kesoku.dev/functions/pipeline"
	_ "kesoku.dev/functions/sweep"
	_ "kesoku.dev/functions/turn"
)

// webhook is the function that platforms call.
const webhook = "googlechat"

// subscribers are the functions behind topics.
func subscribers() map[bus.Topic]string {
	return map[bus.Topic]string{
		bus.TopicInbound: "pipeline", bus.TopicTurns: "turn", bus.TopicDeliveries: "deliver", bus.TopicCron: "cron", bus.TopicSweeps: "sweep",
	}
}

// Functions lists every function by name.
func Functions() []string {
	names := []string{webhook}
	for _, t := range bus.Topics() {
		names = append(names, subscribers()[t])
	}
	return names
}

// ServeFunction serves the function that FUNCTION_TARGET names on a loopback port, as the platform's generated main does. It returns when
// serving fails; SIGTERM ends the process through the function's own drain.
func ServeFunction(port string) error {
	if err := funcframework.StartHostPort("127.0.0.1", port); err != nil {
		return fmt.Errorf("serve on port %s: %w", port, err)
	}
	return nil
}
