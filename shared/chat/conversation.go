package chat

import "strings"

// Ownership says who shares a conversation.
type Ownership string

// The ownerships.
const (
	OwnershipShared   Ownership = "shared"   // everyone in the channel
	OwnershipPersonal Ownership = "personal" // each person has their own
	OwnershipCustom   Ownership = "custom"   // whoever expands to the same key
)

// DefaultLane is the lane that leaves no trace in the key.
const DefaultLane = "default"

// Binding is how a route ties its messages to a conversation.
type Binding struct {
	Ownership Ownership
	Lane      string
	// CustomKey is a template for OwnershipCustom: {platform}, {channel}, {thread} and {user} expand.
	CustomKey string
}

// ConversationKey names the conversation that the event belongs to.
func (b Binding) ConversationKey(e *Event) string {
	var key string
	switch b.Ownership {
	case OwnershipPersonal:
		key = e.RouteID() + ":user:" + e.Sender.ID
	case OwnershipCustom:
		r := strings.NewReplacer("{platform}", e.Platform, "{channel}", e.ChannelID, "{thread}", e.ThreadID, "{user}", e.Sender.ID)
		key = "custom:" + plainHash(r.Replace(b.CustomKey))
	default:
		key = e.RouteID()
	}
	if b.Lane != "" && b.Lane != DefaultLane {
		key += ":lane:" + b.Lane
	}
	return key
}
