package message_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kesoku.dev/shared/message"
)

var (
	now   = time.Date(2026, 5, 27, 12, 50, 0, 123_000, time.UTC)
	wrote = now.Add(-3 * time.Second)
	spot  = message.Spot{Turn: 3, Step: 2, Ordinal: 1, ParentID: "parent"}
)

func author() message.Author {
	return message.Author{SessionID: "sess", ChatbotID: "discord", ChannelID: "1234567890123", Now: now}
}

func promptMeta() message.Metadata {
	return message.Metadata{
		PlatformMessageID: "pm1", SenderID: "112233", ThreadID: "th", Locale: "zh-TW",
		Attachments: []message.Attachment{{Name: "a.csv", MIMEType: "text/csv", Size: 5, StagedAs: "sessions/sess/a/b/a.csv", Source: "src"}},
	}
}

// oneOfEach makes one message of each class with its constructor.
func oneOfEach() map[message.Class]message.Message {
	a := author()
	all := map[message.Class]message.Message{
		message.ClassUserPrompt: a.UserPrompt("Chii", "run the tests", wrote, promptMeta()),
		message.ClassCronPrompt: a.CronPrompt("Run status diagnostics"),
		message.ClassCompaction: a.Compaction("compact"),
		message.ClassThought:    a.Thought(spot, "I should run them", []byte("sig")),
		message.ClassFinalReply: a.FinalReply(spot, "done", message.TurnMetrics{SessionTurns: 3, ContextTokens: 8421, TurnToolCalls: 1,
			TurnTokens: 1042, TurnTime: 2.1}, []byte("sig")),
		message.ClassToolCall: a.ToolCall(spot, "Calling tool", message.Call{ID: "c1", Name: "shell",
			Arguments: `{"command":"uv run pytest","n":[[1,2],{"a.b/c":null}]}`, Signature: []byte("sig")}),
		message.ClassToolResult: a.ToolResult(spot, message.Outcome{CallID: "c1", Name: "shell", Content: "=== STDOUT", Summary: "5 passed",
			Failed: true, StagedAs: "sessions/sess/x/y/z"}),
		message.ClassSystemPrompt: a.SystemPrompt("# System Instructions"),
		message.ClassAlert:        a.Alert("[System Alert] job_123 finished"),
		message.ClassNudge:        a.Nudge(spot, "Your previous response had empty content"),
		message.ClassNotification: a.Notification(spot, "🔄 聊天历史已自动压缩。"),
		message.ClassCrashNotice:  a.CrashNotice(spot, "⚠️ 处理您的请求时发生异常: …"),
	}
	for class, m := range all {
		m.ID = "m" + string(m.Role) + string(m.Type)
		all[class] = m
	}
	return all
}

// M5.1–M5.12: each constructor fixes its row of the table.
func TestConstructors(t *testing.T) {
	t.Parallel()
	metrics := &message.TurnMetrics{SessionTurns: 3, ContextTokens: 8421, TurnToolCalls: 1, TurnTokens: 1042, TurnTime: 2.1}
	sig := []byte("sig")
	tests := []struct {
		class  message.Class
		flow   message.Flow
		role   message.Role
		typ    message.Type
		sender string
		first  message.Status
		spot   bool // stands in a step
		phase  message.Phase
		meta   message.Metadata
	}{
		{1, "input", "user", "text", "Chii", "pending_agent", false, 0, promptMeta()},                                            // M5.1
		{2, "input", "user", "text", "Cronjob", "pending_agent", false, 0, message.Metadata{IsCronjob: true}},                    // M5.2
		{3, "input", "user", "text", "System", "pending_agent", false, 0, message.Metadata{IsCompaction: true}},                  // M5.3
		{4, "step", "assistant", "thought", "Kesoku", "responded", true, 0, message.Metadata{Signature: sig}},                    // M5.4
		{5, "output", "assistant", "text", "Kesoku", "pending", true, 3, message.Metadata{TurnMetrics: metrics, Signature: sig}}, // M5.5
		{6, "step", "tool", "tool_call", "Kesoku", "responded", true, 1, message.Metadata{ToolName: "shell", CallID: "c1", Signature: sig,
			ToolArguments: `{"command":"uv run pytest","n":[[1,2],{"a.b/c":null}]}`}}, // M5.6
		{7, "step", "tool", "tool_result", "shell", "responded", true, 2, message.Metadata{ToolName: "shell", CallID: "c1", ToolFailed: true,
			ToolResult: "5 passed", StagedAs: "sessions/sess/x/y/z"}}, // M5.7
		{8, "note", "system", "text", "System", "responded", false, 0, message.Metadata{}},          // M5.8
		{9, "input", "system", "text", "System", "pending_agent", false, 0, message.Metadata{}},     // M5.9
		{10, "note", "system", "text", "System", "responded", true, 3, message.Metadata{}},          // M5.10
		{11, "output", "assistant", "text", "Notification", "pending", true, 3, message.Metadata{}}, // M5.11
		{12, "output", "assistant", "text", "Kesoku", "pending", true, 3, message.Metadata{}},       // M5.12
	}
	made := oneOfEach()
	if len(tests) != 12 || len(made) != 12 {
		t.Fatalf("%d rows, %d messages, want twelve of each", len(tests), len(made))
	}
	for _, tt := range tests {
		got := made[tt.class]
		want := message.Message{
			ID: got.ID, SessionID: "sess", ChatbotID: "discord", ChannelID: "1234567890123", Role: tt.role, Type: tt.typ, Sender: tt.sender,
			Content: got.Content, Status: tt.first, Metadata: tt.meta, Timestamp: now, Phase: tt.phase,
		}
		if tt.spot {
			want.Turn, want.Step, want.Ordinal, want.ParentID = spot.Turn, spot.Step, spot.Ordinal, spot.ParentID
		}
		switch tt.class {
		case message.ClassUserPrompt:
			want.Timestamp = wrote
		case message.ClassSystemPrompt:
			want.ChatbotID, want.ChannelID = "system", "system"
		default:
		}
		if diff := cmp.Diff(want, got); diff != "" || got.Content == "" {
			t.Errorf("M5.%d (-want +got):\n%s", tt.class, diff)
		}
		if c := got.Class(); c != tt.class || c.Flow() != tt.flow {
			t.Errorf("M5.%d is read as class %d, flow %s", tt.class, c, c.Flow())
		}
	}
}

// M5.1: what a person's prompt claims about itself must not make it another class.
func TestUserPromptCannotPose(t *testing.T) {
	t.Parallel()
	posing := message.Metadata{IsCronjob: true, IsCompaction: true, ToolName: "x", CallID: "c", StagedAs: "s", Signature: []byte("s"),
		TurnMetrics: &message.TurnMetrics{}, DeliveryError: "e", ToolArguments: "{}", ToolResult: "r", ToolFailed: true}
	for _, name := range []string{"Cronjob", "System", "Kesoku", "Notification"} {
		m := author().UserPrompt(name, "hi", wrote, posing)
		if m.Class() != message.ClassUserPrompt || !cmp.Equal(m.Metadata, message.Metadata{}) {
			t.Errorf("sender %q: class %d, metadata %+v", name, m.Class(), m.Metadata)
		}
	}
}

// M5: a class is recognised in every status its messages can reach, from the struct and from its JSON.
func TestClassInEveryStatus(t *testing.T) {
	t.Parallel()
	for class, m := range oneOfEach() {
		for _, status := range reach(m) {
			m.Status = status
			if got := m.Class(); got != class {
				t.Errorf("class %d in status %s is read as %d", class, status, got)
			}
			text, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			var back message.Message
			if err := json.Unmarshal(text, &back); err != nil {
				t.Fatalf("class %d: %v", class, err)
			}
			if diff := cmp.Diff(m, back); diff != "" {
				t.Errorf("class %d through JSON (-want +got):\n%s", class, diff)
			}
			if got := back.Class(); got != class {
				t.Errorf("class %d in status %s is read as %d from JSON", class, status, got)
			}
		}
	}
}

// reach lists the statuses that a message can come to, its first one included.
func reach(m message.Message) []message.Status {
	seen := map[message.Status]bool{}
	var walk func(message.Message)
	walk = func(m message.Message) {
		if seen[m.Status] {
			return
		}
		seen[m.Status] = true
		for _, tr := range message.Transitions() {
			if next := m; next.Apply(tr) == nil {
				walk(next)
			}
		}
	}
	walk(m)
	return slices.Collect(maps.Keys(seen))
}

// M4: the names in JSON are exactly the model's, and the order's five after them.
func TestFieldNames(t *testing.T) {
	t.Parallel()
	want := []string{"id", "session_id", "parent_id", "chatbot_id", "channel_id", "sender", "role", "type", "content", "status", "metadata",
		"timestamp", "turn", "step", "phase", "ordinal", "seq"}
	slices.Sort(want)
	for class, m := range oneOfEach() {
		if diff := cmp.Diff(want, keysOf(t, m)); diff != "" {
			t.Errorf("class %d (-want +got):\n%s", class, diff)
		}
	}
}

// M5: metadata holds what the class's row names, under the seeds' names, and nothing else.
func TestMetadataNames(t *testing.T) {
	t.Parallel()
	place := []string{"attachments", "locale", "platform_message_id", "sender_id", "thread_id"}
	want := map[message.Class][]string{
		1: place, 2: {"is_cronjob"}, 3: {"is_compaction"}, 4: {"signature"}, 5: {"signature", "turn_metrics"},
		6: {"call_id", "signature", "tool_arguments", "tool_name"}, 7: {"call_id", "staged_as", "tool_failed", "tool_name", "tool_result"},
		8: nil, 9: nil, 10: nil, 11: nil, 12: nil,
	}
	for class, m := range oneOfEach() {
		if diff := cmp.Diff(want[class], keysOf(t, m.Metadata)); diff != "" {
			t.Errorf("class %d (-want +got):\n%s", class, diff)
		}
	}
	// M5.5, A10: metrics that are all zero are still there: they tell a reply from a crash notice.
	reply := author().FinalReply(spot, "done", message.TurnMetrics{}, nil)
	if diff := cmp.Diff([]string{"context_tokens", "session_turns", "turn_time", "turn_tokens", "turn_tool_calls"},
		keysOf(t, reply.Metadata.TurnMetrics)); diff != "" || len(keysOf(t, reply.Metadata)) != 1 {
		t.Errorf("turn_metrics (-want +got):\n%s", diff)
	}
}

// keysOf returns the sorted keys of v's JSON object, nil if it has none.
func keysOf(t *testing.T, v any) []string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(maps.Keys(object))
}

// M5.6: tool_arguments is an object in JSON, not a string that holds one, and comes back as it went.
func TestArguments(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		args message.Arguments
		want string // in JSON
	}{
		"object":                 {`{"command":"ls"}`, `{"command":"ls"}`},
		"nested arrays":          {`{"n":[[1,[2]],[]]}`, `{"n":[[1,[2]],[]]}`},
		"names Firestore hates":  {`{"__a__":1,"a.b":2,"":3,"~*/[]":4}`, `{"__a__":1,"a.b":2,"":3,"~*/[]":4}`},
		"big and small numbers":  {`{"n":9007199254740993,"e":1e400}`, `{"n":9007199254740993,"e":1e400}`},
		"none":                   {``, `{}`},
		"white space":            {"{\n \"a\" : 1 }", `{"a":1}`},
		"a key twice stays both": {`{"a":1,"a":2}`, `{"a":1,"a":2}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := json.Marshal(tt.args)
			if err != nil || string(text) != tt.want {
				t.Fatalf("JSON %s, %v, want %s", text, err, tt.want)
			}
			var back message.Arguments
			if err := json.Unmarshal(text, &back); err != nil || string(back) != tt.want {
				t.Errorf("back from JSON: %s, %v, want %s", back, err, tt.want)
			}
		})
	}
	var none message.Arguments
	if err := json.Unmarshal([]byte(`null`), &none); err != nil || none != "" {
		t.Errorf("null is read as %q, %v, want no arguments", none, err)
	}
	for _, bad := range []string{`[1]`, `"text"`, `1`, `true`} {
		var a message.Arguments
		if err := json.Unmarshal([]byte(bad), &a); err == nil {
			t.Errorf("%s is taken for arguments: %q", bad, a)
		}
	}
}

// P18: what a turn says carries the thread that it answers in.
func TestThreadOfASpot(t *testing.T) {
	t.Parallel()
	in := message.Spot{Turn: 1, Step: 1, ThreadID: "th"}
	a := author()
	for _, m := range []message.Message{
		a.FinalReply(in, "x", message.TurnMetrics{}, nil), a.Notification(in, "x"), a.CrashNotice(in, "x"), a.Thought(in, "x", nil),
		a.ToolCall(in, "x", message.Call{Name: "shell"}), a.ToolResult(in, message.Outcome{Name: "shell"}), a.Nudge(in, "x"),
	} {
		if m.Metadata.ThreadID != "th" {
			t.Errorf("class %d is in thread %q", m.Class(), m.Metadata.ThreadID)
		}
	}
}

// M5.6: whatever JSON comes as arguments is refused or goes on as the same object.
func FuzzArguments(f *testing.F) {
	for _, seed := range []string{`{"a":[1,{"b":null}]}`, `null`, `[1]`, `{"a":1,"a":2}`, `{"\u0000":"\ud800"}`, ` {} `, `"{}"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, given []byte) {
		var a message.Arguments
		if json.Unmarshal(given, &a) != nil {
			return
		}
		text, err := json.Marshal(a)
		if err != nil {
			t.Fatalf("%q was taken and cannot be written: %v", a, err)
		}
		var object map[string]json.RawMessage
		if err := json.Unmarshal(text, &object); err != nil || object == nil {
			t.Fatalf("%q is written as %q, which is no object: %v", a, text, err)
		}
		var back message.Arguments
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatalf("%q does not come back: %v", text, err)
		}
		if again, err := json.Marshal(back); err != nil || !bytes.Equal(again, text) {
			t.Fatalf("%q becomes %q: %v", text, again, err)
		}
	})
}
