package telemetry

import "go.opentelemetry.io/otel/attribute"

// Names of spans. Those of models and tools are the GenAI conventions' ("chat {model}"), those of wake-ups the messaging conventions'
// ("{operation} {destination}").
const (
	// SpanAgent is one turn, in one invocation: https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-agent-spans/.
	SpanAgent = "invoke_agent " + AgentName
	// AgentName is what the agent is called in traces.
	AgentName = "kesoku"

	chat, tool, agent = "chat", "execute_tool", "invoke_agent" // gen_ai.operation.name
	send, process     = "send", "process"                      // messaging.operation.type
)

// SpanSettle is a burst of messages on its way through the pipeline. No convention covers it.
const SpanSettle = "settle messages"

// SpanChat names one call of a model: https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/#inference.
func SpanChat(model string) string { return chat + " " + model }

// SpanTool names one run of a tool: https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/#execute-tool-span.
func SpanTool(name string) string { return tool + " " + name }

// SpanSend names the publishing of a wake-up: https://opentelemetry.io/docs/specs/semconv/messaging/messaging-spans/#span-name.
func SpanSend(topic string) string { return send + " " + topic }

// SpanProcess names the handling of a wake-up, by the same convention.
func SpanProcess(topic string) string { return process + " " + topic }

// SpanPlatform names one write to a platform: "create_message googlechat", "edit_message googlechat". No convention covers it.
func SpanPlatform(operation, platform string) string { return operation + " " + platform }

// Attributes of the GenAI conventions. OpenTelemetry's Go module had them up to semconv/v1.41.0; since then they are kept in
// https://github.com/open-telemetry/semantic-conventions-genai, under the same names.
const (
	KeyOperation     = attribute.Key("gen_ai.operation.name")
	KeyProvider      = attribute.Key("gen_ai.provider.name")
	KeyModel         = attribute.Key("gen_ai.request.model")
	KeyFinishReasons = attribute.Key("gen_ai.response.finish_reasons")
	KeyInputTokens   = attribute.Key("gen_ai.usage.input_tokens")
	KeyOutputTokens  = attribute.Key("gen_ai.usage.output_tokens")
	KeyAgentName     = attribute.Key("gen_ai.agent.name")
	KeyToolName      = attribute.Key("gen_ai.tool.name")
	KeyToolCallID    = attribute.Key("gen_ai.tool.call.id")
	KeyToolType      = attribute.Key("gen_ai.tool.type")
	KeySession       = attribute.Key("gen_ai.conversation.id") // a session of ours is what they call a conversation
)

// Attributes of the messaging, HTTP, FaaS and general conventions: go.opentelemetry.io/otel/semconv/v1.43.0.
const (
	KeyMessagingSystem = attribute.Key("messaging.system")
	KeyDestination     = attribute.Key("messaging.destination.name")
	KeyMessagingType   = attribute.Key("messaging.operation.type")
	KeyMessagingName   = attribute.Key("messaging.operation.name")
	KeyMessageID       = attribute.Key("messaging.message.id")
	KeyHTTPMethod      = attribute.Key("http.request.method")
	KeyHTTPStatus      = attribute.Key("http.response.status_code")
	KeyTrigger         = attribute.Key("faas.trigger")
	KeyErrorType       = attribute.Key("error.type")
)

// Attributes of our own.
const (
	KeyTurn     = attribute.Key("kesoku.turn")     // number of the turn within its session
	KeyEpoch    = attribute.Key("kesoku.epoch")    // of the lease under which it ran
	KeyOutcome  = attribute.Key("kesoku.outcome")  // how a turn, a tool or a write ended
	KeyAttempt  = attribute.Key("kesoku.attempt")  // from 1
	KeyDecision = attribute.Key("kesoku.decision") // what became of a wake-up: ack, nack, bury, fenced
	KeyVerdict  = attribute.Key("kesoku.verdict")  // what the lease's claim was answered
	KeyPlatform = attribute.Key("kesoku.platform")
	KeyEffect   = attribute.Key("kesoku.effect")   // what was decided on a message: wake, observe, ignore
	KeyReason   = attribute.Key("kesoku.reason")   // why
	KeyMessages = attribute.Key("kesoku.messages") // how many were settled as one
)

// Fields of log entries that Cloud Logging knows: https://cloud.google.com/logging/docs/agent/logging/configuration#special-fields.
const (
	LogTrace   = "logging.googleapis.com/trace"
	LogSpan    = "logging.googleapis.com/spanId"
	LogSampled = "logging.googleapis.com/trace_sampled"
	LogSession = "session"
)

// Log-based metrics, by which people are warned: each counts the log entries that terraform/alerts.tf filters for. A test holds these names,
// that file and the dashboard together.
const (
	MetricSweeps   = "kesoku_sweeps"
	MetricEvents   = "kesoku_events"
	MetricFinished = "kesoku_turns_finished"
	MetricFailed   = "kesoku_turns_failed"
	MetricNacked   = "kesoku_nacked"
	MetricBuried   = "kesoku_buried"
	MetricErrors   = "kesoku_errors"
)

// OfChat describes a call of a model by provider and model as configured, "gemini" and "gemini-2.5-flash".
func OfChat(provider, model string) []attribute.KeyValue {
	return []attribute.KeyValue{KeyOperation.String(chat), KeyProvider.String(providerName(provider)), KeyModel.String(model)}
}

// OfAgent describes a turn.
func OfAgent(provider, model string, turn int, epoch int64) []attribute.KeyValue {
	return []attribute.KeyValue{
		KeyOperation.String(agent), KeyAgentName.String(AgentName), KeyProvider.String(providerName(provider)), KeyModel.String(model),
		KeyTurn.Int(turn), KeyEpoch.Int64(epoch),
	}
}

// OfTool describes a tool's run. The call's id is the provider's.
func OfTool(name, callID string) []attribute.KeyValue {
	return []attribute.KeyValue{KeyOperation.String(tool), KeyToolName.String(name), KeyToolCallID.String(callID), KeyToolType.String("function")}
}

// OfSend describes the publishing of a wake-up, and OfProcess its handling.
func OfSend(topic string) []attribute.KeyValue { return ofMessaging(send, topic) }

// OfProcess describes the handling of a wake-up; id is the Pub/Sub message's.
func OfProcess(topic, id string) []attribute.KeyValue {
	return append(ofMessaging(process, topic), KeyMessageID.String(id), KeyTrigger.String("pubsub"))
}

func ofMessaging(operation, topic string) []attribute.KeyValue {
	return []attribute.KeyValue{
		KeyMessagingSystem.String("gcp_pubsub"), KeyDestination.String(topic), KeyMessagingType.String(operation), KeyMessagingName.String(operation),
	}
}

// providerName is the convention's name of a provider. Google's is the one that leaves open whether a key or Vertex AI was used.
func providerName(provider string) string {
	switch provider {
	case "gemini", "generativeai":
		return "gcp.gen_ai"
	case "claude":
		return "anthropic"
	default:
		return provider
	}
}
