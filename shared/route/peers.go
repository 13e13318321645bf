package route

import (
	"time"

	"kesoku.dev/shared/chat"
)

// Bots that answer one another never stop by themselves. So each other bot has a window, in which its messages and our replies to them
// count alike; the fourth within a minute is not answered, and nor is anything for a while. Humans are never limited.
const (
	peerWindow = time.Minute
	peerLimit  = 4
	peerMute   = 5 * time.Minute
	maxPeers   = 16
)

// Peer is another bot in the channel.
type Peer struct {
	Seen       []time.Time `json:"seen" firestore:"seen"` // its messages and our replies, within the window
	MutedUntil time.Time   `json:"muted_until" firestore:"muted_until"`
}

// Looping takes a message of another bot into account and reports whether answering it would go on with a loop.
func (s *State) Looping(id string, at time.Time) bool {
	key := peerKey(id)
	p := s.Peers[key]
	p.Seen = append(recent(p.Seen, at), at)
	looping := at.Before(p.MutedUntil) || len(p.Seen) >= peerLimit
	if len(p.Seen) >= peerLimit {
		p.MutedUntil = at.Add(peerMute)
		p.Seen = p.Seen[len(p.Seen)-peerLimit:]
	}
	s.setPeer(key, p)
	return looping
}

// Replied counts our own reply to another bot.
func (s *State) Replied(id string, at time.Time) {
	key := peerKey(id)
	p := s.Peers[key]
	p.Seen = append(recent(p.Seen, at), at)
	s.setPeer(key, p)
}

func peerKey(id string) string { return chat.Hash(id)[:16] }

// setPeer keeps a peer, and forgets the one that was silent longest if there are too many.
func (s *State) setPeer(key string, p Peer) {
	if s.Peers == nil {
		s.Peers = map[string]Peer{}
	}
	s.Peers[key] = p
	for len(s.Peers) > maxPeers {
		oldest := ""
		for k := range s.Peers {
			if k != key && (oldest == "" || s.Peers[k].last().Before(s.Peers[oldest].last()) || (s.Peers[k].last().Equal(s.Peers[oldest].last()) && k < oldest)) {
				oldest = k
			}
		}
		delete(s.Peers, oldest)
	}
}

func (p Peer) last() time.Time {
	if len(p.Seen) == 0 {
		return time.Time{}
	}
	return p.Seen[len(p.Seen)-1]
}

func recent(seen []time.Time, at time.Time) []time.Time {
	var out []time.Time
	for _, t := range seen {
		if at.Sub(t) < peerWindow {
			out = append(out, t)
		}
	}
	return out
}
