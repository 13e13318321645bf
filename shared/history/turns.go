package history

// Speaker is who a provider turn belongs to. There are two, and they alternate.
type Speaker string

// The speakers.
const (
	SpeakerUser  Speaker = "user"
	SpeakerModel Speaker = "model"
)

// Turn is one provider turn: what every provider's wire format can say, and no more.
type Turn struct {
	Speaker Speaker
	Parts   []Part
}

// Part is one piece of a turn. Exactly one of Text, Call, Result and File is set.
type Part struct {
	Text    string
	Thought bool // the model's own reasoning; only with Text, only by the model
	Call    *Call
	Result  *Result
	File    *File
	// Signature is the provider's opaque proof of a thought, replayed with the call or text it came with while the turn lives.
	Signature []byte
}

// Call is a tool call by the model.
type Call struct {
	ID   string
	Name string
	Args string // a JSON object
}

// Result answers the call with the same ID.
type Result struct {
	ID      string
	Name    string
	Content string
	Failed  bool
}

// File is an attachment of a live prompt.
type File struct {
	Name     string
	MIMEType string
	// StagedAs is the object's name in the staging area; Data its bytes, once loaded.
	StagedAs string
	Data     []byte
}
