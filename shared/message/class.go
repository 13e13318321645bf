package message

// Class is one of the twelve kinds of message. Its number is the row of the message model's table.
type Class int

// The classes. ClassUnknown is a record that no constructor makes.
const (
	ClassUnknown      Class = 0
	ClassUserPrompt   Class = 1
	ClassCronPrompt   Class = 2
	ClassCompaction   Class = 3
	ClassThought      Class = 4
	ClassFinalReply   Class = 5
	ClassToolCall     Class = 6
	ClassToolResult   Class = 7
	ClassSystemPrompt Class = 8
	ClassAlert        Class = 9
	ClassNudge        Class = 10
	ClassNotification Class = 11
	ClassCrashNotice  Class = 12
)

// Flow returns the edges open to the class. A cron prompt, a compaction and an alert take every input edge: their row names
// only how they normally end, but a turn that fails or is stopped must end them too.
func (c Class) Flow() Flow {
	switch c {
	case ClassUserPrompt, ClassCronPrompt, ClassCompaction, ClassAlert:
		return FlowInput
	case ClassFinalReply, ClassNotification, ClassCrashNotice:
		return FlowOutput
	case ClassThought, ClassToolCall, ClassToolResult:
		return FlowStep
	default:
		return FlowNote
	}
}

// Class reads a message's class off its fields. A final reply and a crash notice differ in TurnMetrics alone, which only the
// reply has; a nudge and an alert differ in their first status, which an alert leaves and never returns to as responded.
func (m *Message) Class() Class {
	switch {
	case m.Role == RoleUser && m.Type == TypeText:
		return m.promptClass()
	case m.Role == RoleAssistant && m.Type == TypeThought:
		return ClassThought
	case m.Role == RoleAssistant && m.Type == TypeText:
		return m.outputClass()
	case m.Role == RoleTool && m.Type == TypeToolCall:
		return ClassToolCall
	case m.Role == RoleTool && m.Type == TypeToolResult:
		return ClassToolResult
	case m.Role == RoleSystem && m.Type == TypeText:
		return m.systemClass()
	default:
		return ClassUnknown
	}
}

func (m *Message) promptClass() Class {
	switch {
	case m.Metadata.IsCronjob:
		return ClassCronPrompt
	case m.Metadata.IsCompaction:
		return ClassCompaction
	default:
		return ClassUserPrompt
	}
}

func (m *Message) outputClass() Class {
	switch {
	case m.Sender == SenderNotification:
		return ClassNotification
	case m.Metadata.TurnMetrics != nil:
		return ClassFinalReply
	default:
		return ClassCrashNotice
	}
}

func (m *Message) systemClass() Class {
	switch {
	case m.ChatbotID == systemPlace:
		return ClassSystemPrompt
	case m.Status == StatusResponded:
		return ClassNudge
	default:
		return ClassAlert
	}
}
