package webhook

import "encoding/json"

// What Google Chat sends. The SDK's own types do not serve: they have none for the add-on envelope, and refuse the floating point
// offsets (0.0) that it really carries.

// classic is the interaction event of an app that is no add-on (chat.DeprecatedEvent).
type classic struct {
	Type               string       `json:"type"`
	EventTime          string       `json:"eventTime"`
	User               *user        `json:"user"`
	Space              *space       `json:"space"`
	Thread             *thread      `json:"thread"`
	Message            *wireMessage `json:"message"`
	Action             *formAction  `json:"action"`
	Common             common       `json:"common"`
	AppCommandMetadata *appCommand  `json:"appCommandMetadata"`
}

// addOn is the envelope of a Google Workspace add-on that extends Chat: the payload that is there says what happened.
type addOn struct {
	Common common `json:"commonEventObject"`
	Chat   struct {
		User             *user    `json:"user"`
		EventTime        string   `json:"eventTime"`
		Message          *payload `json:"messagePayload"`
		AddedToSpace     *payload `json:"addedToSpacePayload"`
		RemovedFromSpace *payload `json:"removedFromSpacePayload"`
		ButtonClicked    *payload `json:"buttonClickedPayload"`
		AppCommand       *payload `json:"appCommandPayload"`
	} `json:"chat"`
}

type payload struct {
	Space              *space       `json:"space"`
	Thread             *thread      `json:"thread"`
	Message            *wireMessage `json:"message"`
	AppCommandMetadata *appCommand  `json:"appCommandMetadata"`
}

// push is a Pub/Sub push body with a Workspace event in it.
type push struct {
	Message struct {
		Attributes  map[string]string `json:"attributes"`
		Data        []byte            `json:"data"`
		PublishTime string            `json:"publishTime"`
	} `json:"message"`
}

// changes is the data of a Workspace event on messages: one, or with a batch type many.
type changes struct {
	Message  *wireMessage `json:"message"`
	Messages []struct {
		Message *wireMessage `json:"message"`
	} `json:"messages"`
}

type common struct {
	UserLocale      string            `json:"userLocale"`
	InvokedFunction string            `json:"invokedFunction"`
	Parameters      map[string]string `json:"parameters"`
}

type formAction struct {
	ActionMethodName string `json:"actionMethodName"`
	Parameters       []struct {
		Key   string `json:"key"`
		Value string `json:"value"`
	} `json:"parameters"`
}

// appCommand has its id as a number from one envelope and as a string from the other.
type appCommand struct {
	ID   flexible `json:"appCommandId"`
	Type string   `json:"appCommandType"`
}

type user struct {
	Name        string `json:"name"`
	DisplayName string `json:"displayName"`
	Type        string `json:"type"`
}

type space struct {
	Name            string `json:"name"`
	Type            string `json:"type"`
	SpaceType       string `json:"spaceType"`
	SingleUserBotDM bool   `json:"singleUserBotDm"`
}

type thread struct {
	Name string `json:"name"`
}

type wireMessage struct {
	Name           string       `json:"name"`
	Sender         *user        `json:"sender"`
	CreateTime     string       `json:"createTime"`
	LastUpdateTime string       `json:"lastUpdateTime"`
	Text           string       `json:"text"`
	ArgumentText   *string      `json:"argumentText"`
	ThreadReply    bool         `json:"threadReply"`
	Thread         *thread      `json:"thread"`
	Space          *space       `json:"space"`
	Annotations    []annotation `json:"annotations"`
	Attachment     []attachment `json:"attachment"`
	ClientID       string       `json:"clientAssignedMessageId"`
	SlashCommand   *struct {
		CommandID flexible `json:"commandId"`
	} `json:"slashCommand"`
	MatchedURL *struct{} `json:"matchedUrl"`
	Quoted     *struct {
		Name     string `json:"name"`
		Snapshot struct {
			Sender string `json:"sender"`
		} `json:"quotedMessageSnapshot"`
	} `json:"quotedMessageMetadata"`
}

// annotation covers [StartIndex, StartIndex+Length) of the text, in UTF-16 code units.
type annotation struct {
	Type        string  `json:"type"`
	StartIndex  float64 `json:"startIndex"`
	Length      float64 `json:"length"`
	UserMention struct {
		User user `json:"user"`
	} `json:"userMention"`
	SlashCommand struct {
		Name string `json:"commandName"`
	} `json:"slashCommand"`
}

type attachment struct {
	ContentName string `json:"contentName"`
	ContentType string `json:"contentType"`
	Data        struct {
		ResourceName string `json:"resourceName"`
	} `json:"attachmentDataRef"`
	Drive struct {
		FileID string `json:"driveFileId"`
	} `json:"driveDataRef"`
}

// flexible is a string that may also come as a number.
type flexible string

// UnmarshalJSON takes both.
func (f *flexible) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err == nil {
		*f = flexible(s)
		return nil
	}
	var n json.Number
	if err := json.Unmarshal(b, &n); err != nil {
		return err
	}
	*f = flexible(n)
	return nil
}
