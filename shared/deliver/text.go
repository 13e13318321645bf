package deliver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"kesoku.dev/shared/censor"
	"kesoku.dev/shared/hooks"
	"kesoku.dev/shared/locale"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/render/compose"
	"kesoku.dev/shared/session"
)

// text is what the platform is sent of an output. A crash notice is a fixed text of ours, so it is always sent as it is.
func (r *run) text(ctx context.Context, m message.Message) (string, error) {
	kind := hooks.KindNotification
	switch m.Class() {
	case message.ClassCrashNotice:
		return r.view.Fixed(m.Content), nil
	case message.ClassFinalReply:
		kind = hooks.KindReply
	}
	var failed error
	text, err := r.view.Text(ctx, hooks.Fragment{
		Kind: kind, MessageID: m.ID, SessionID: r.id, Platform: r.s.ChatbotID, ChannelID: m.ChannelID, ThreadID: m.Metadata.ThreadID,
		Direct: r.s.Direct, Text: m.Content,
	}, compose.Scene{Quoted: func(id string) (compose.Quoted, bool) {
		q, found, err := r.quoted(ctx, m, cmp.Or(id, m.ParentID))
		failed = errors.Join(failed, err)
		return q, found
	}})
	return text, errors.Join(err, failed)
}

// maxBack is how far back, in messages, something may lie that is quoted.
const maxBack = 300

// quoted finds a message by its id, the platform's or ours: what people wrote or were sent, never what only the model reads. What this run has not
// read, mostly the prompt of a plain turn, it reads now; only routes and models that quote pay for it.
func (r *run) quoted(ctx context.Context, m message.Message, id string) (compose.Quoted, bool, error) {
	if id == "" {
		return compose.Quoted{}, false, nil
	}
	among := r.messages
	is := func(q message.Message) bool { return q.ID == id || q.Metadata.PlatformMessageID == id }
	if !slices.ContainsFunc(among, is) {
		seq := m.Seq - 1
		for seq > max(0, m.Seq-maxBack) && session.MessageID(r.id, seq) != id {
			seq--
		}
		if seq <= max(0, m.Seq-maxBack) {
			return compose.Quoted{}, false, nil
		}
		var err error
		if among, err = r.ledger.Since(ctx, seq-1); err != nil {
			return compose.Quoted{}, false, fmt.Errorf("read message %s to quote it: %w", id, err)
		}
	}
	i := slices.IndexFunc(among, is)
	if i < 0 || !public(among[i]) {
		return compose.Quoted{}, false, nil
	}
	return compose.Quoted{Sender: among[i].Sender, Text: among[i].Content}, true, nil
}

// public reports whether people have read the message.
func public(m message.Message) bool {
	return m.Class() == message.ClassUserPrompt || (m.Class().Flow() == message.FlowOutput && m.Status == message.StatusDelivered)
}

// withhold ends a message that the censor stopped and has people told so, in one swap: neither can happen without the other, nor twice. The notice
// is a crash notice, which no censor sees, so it cannot be stopped in turn; and as the turn's last word it has the card say that the turn failed.
func (r *run) withhold(ctx context.Context, m message.Message) error {
	r.log.WarnContext(ctx, "message withheld", "message_id", m.ID, "code", censor.CodeBlocked)
	texts := locale.For(m.Metadata.Locale, r.s.Settings.Locale)
	at := message.Spot{
		Turn: m.Turn, Step: m.Step, Ordinal: m.Ordinal, ParentID: m.ParentID, ThreadID: r.sendingOf(m).ThreadID, Locale: m.Metadata.Locale,
	}
	return r.change(ctx, func(d *session.Draft) error {
		m := m
		m.Metadata.DeliveryError = censor.CodeBlocked
		if err := d.Move(&m, message.Undeliverable); err != nil {
			return err
		}
		d.Outbox.Cursor, d.Outbox.Sending = m.Seq, session.Sending{}
		author := message.Author{ChatbotID: m.ChatbotID, ChannelID: m.ChannelID, Now: r.Clock.Now()}
		d.Create(author.CrashNotice(at, texts.Withheld()))
		return nil
	})
}
