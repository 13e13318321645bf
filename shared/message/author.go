package message

import "time"

// systemPlace is the chatbot and channel of the virtual system prompt.
const systemPlace = "system"

// Author makes messages for one place at one time: the twelve constructors are its methods, and each fixes its row of the table. What
// it makes has no id and no seq yet; the swap that stores a message gives it both.
type Author struct {
	SessionID string
	ChatbotID string
	ChannelID string
	Now       time.Time
}

// Spot is where in a turn a message stands.
type Spot struct {
	Turn     int
	Step     int
	Ordinal  int
	ParentID string
	// ThreadID is the platform's thread that an output answers in.
	ThreadID string
	// Locale is the language of whoever is answered, where their platform tells it.
	Locale string
}

func (a Author) base(class rowOf, content string) Message {
	return Message{
		SessionID: a.SessionID, ChatbotID: a.ChatbotID, ChannelID: a.ChannelID, Timestamp: a.Now,
		Role: class.role, Type: class.typ, Sender: class.sender, Status: class.first, Content: content,
	}
}

// rowOf is the fixed part of a table row.
type rowOf struct {
	role   Role
	typ    Type
	sender string
	first  Status
}

// UserPrompt is M5.1. The sender is the person's name; at is when they wrote, by the platform's clock.
func (a Author) UserPrompt(sender, content string, at time.Time, meta Metadata) Message {
	m := a.base(rowOf{RoleUser, TypeText, sender, StatusPendingAgent}, content)
	m.Timestamp = at
	m.Metadata = Metadata{
		PlatformMessageID: meta.PlatformMessageID, SenderID: meta.SenderID, ThreadID: meta.ThreadID, Locale: meta.Locale,
		Attachments: meta.Attachments, Observed: meta.Observed,
	}
	return m
}

// CronPrompt is M5.2.
func (a Author) CronPrompt(content string) Message {
	m := a.base(rowOf{RoleUser, TypeText, SenderCron, StatusPendingAgent}, content)
	m.Metadata.IsCronjob = true
	return m
}

// Compaction is M5.3, what /compact puts into the inbox.
func (a Author) Compaction(content string) Message {
	m := a.base(rowOf{RoleUser, TypeText, SenderSystem, StatusPendingAgent}, content)
	m.Metadata.IsCompaction = true
	return m
}

// Thought is M5.4.
func (a Author) Thought(at Spot, content string, signature []byte) Message {
	m := a.base(rowOf{RoleAssistant, TypeThought, SenderKesoku, StatusResponded}, content)
	m.Metadata.Signature = signature
	return m.at(at, PhaseThought)
}

// FinalReply is M5.5. It has metrics always: they tell it from a crash notice.
func (a Author) FinalReply(at Spot, content string, metrics TurnMetrics, signature []byte) Message {
	m := a.base(rowOf{RoleAssistant, TypeText, SenderKesoku, StatusPending}, content)
	m.Metadata.TurnMetrics, m.Metadata.Signature = &metrics, signature
	return m.at(at, PhaseText)
}

// Call is what a model asks a tool to do.
type Call struct {
	ID        string
	Name      string
	Arguments Arguments
	Signature []byte
}

// ToolCall is M5.6.
func (a Author) ToolCall(at Spot, content string, call Call) Message {
	m := a.base(rowOf{RoleTool, TypeToolCall, SenderKesoku, StatusResponded}, content)
	m.Metadata = Metadata{ToolName: call.Name, ToolArguments: call.Arguments, CallID: call.ID, Signature: call.Signature}
	return m.at(at, PhaseToolCall)
}

// Outcome is what a tool gave back: Content for the model, Summary (one line) for people.
type Outcome struct {
	CallID   string
	Name     string
	Content  string
	Summary  string
	Failed   bool
	StagedAs string
}

// ToolResult is M5.7; its sender is the tool.
func (a Author) ToolResult(at Spot, out Outcome) Message {
	m := a.base(rowOf{RoleTool, TypeToolResult, out.Name, StatusResponded}, out.Content)
	m.Metadata = Metadata{ToolName: out.Name, ToolResult: out.Summary, ToolFailed: out.Failed, CallID: out.CallID, StagedAs: out.StagedAs}
	return m.at(at, PhaseToolResult)
}

// SystemPrompt is M5.8. It is virtual: no store takes it.
func (a Author) SystemPrompt(content string) Message {
	m := a.base(rowOf{RoleSystem, TypeText, SenderSystem, StatusResponded}, content)
	m.ChatbotID, m.ChannelID = systemPlace, systemPlace
	return m
}

// Alert is M5.9, the end of a background job.
func (a Author) Alert(content string) Message {
	return a.base(rowOf{RoleSystem, TypeText, SenderSystem, StatusPendingAgent}, content)
}

// Nudge is M5.10, told to a model that answered nothing.
func (a Author) Nudge(at Spot, content string) Message {
	return a.base(rowOf{RoleSystem, TypeText, SenderSystem, StatusResponded}, content).at(at, PhaseText)
}

// Notification is M5.11, a light note to people that no model reads.
func (a Author) Notification(at Spot, content string) Message {
	return a.base(rowOf{RoleAssistant, TypeText, SenderNotification, StatusPending}, content).at(at, PhaseText)
}

// CrashNotice is M5.12, what people read when a turn failed.
func (a Author) CrashNotice(at Spot, content string) Message {
	return a.base(rowOf{RoleAssistant, TypeText, SenderKesoku, StatusPending}, content).at(at, PhaseText)
}

func (m Message) at(s Spot, p Phase) Message {
	m.Turn, m.Step, m.Ordinal, m.ParentID, m.Phase = s.Turn, s.Step, s.Ordinal, s.ParentID, p
	m.Metadata.ThreadID, m.Metadata.Locale = s.ThreadID, s.Locale
	return m
}
