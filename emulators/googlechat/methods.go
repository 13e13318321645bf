package googlechat

import (
	"net/http"

	"google.golang.org/api/chat/v1"

	"kesoku.dev/emulators/googlechat/query"
	"kesoku.dev/emulators/googlechat/wire"
	"kesoku.dev/emulators/googlechat/world"
)

func spaceName(r *http.Request) string   { return "spaces/" + r.PathValue("space") }
func messageName(r *http.Request) string { return spaceName(r) + "/messages/" + r.PathValue("message") }

// createMessage is spaces.messages.create.
func (s *Server) createMessage(r *http.Request) (any, error) {
	m, err := decode(r)
	if err != nil {
		return nil, err
	}
	q := r.URL.Query()
	return s.CreateAsApp(spaceName(r), m, world.Creation{
		RequestID: q.Get("requestId"), MessageID: q.Get("messageId"), ThreadKey: q.Get("threadKey"), ReplyOption: q.Get("messageReplyOption"),
	})
}

// patchMessage is spaces.messages.patch, and update, which differ in their HTTP method alone.
func (s *Server) patchMessage(r *http.Request) (any, error) {
	m, err := decode(r)
	if err != nil {
		return nil, err
	}
	q := r.URL.Query()
	return s.PatchAsApp(messageName(r), m, q.Get("updateMask"), q.Get("allowMissing") == "true")
}

// deleteMessage is spaces.messages.delete.
func (s *Server) deleteMessage(r *http.Request) (any, error) {
	return struct{}{}, s.DeleteAsApp(messageName(r))
}

// getMessage is spaces.messages.get.
func (s *Server) getMessage(r *http.Request) (any, error) { return s.GetAsApp(messageName(r)) }

// listMessages is spaces.messages.list.
func (s *Server) listMessages(r *http.Request) (any, error) {
	q, err := query.Parse(r.URL.Query())
	if err != nil {
		return nil, err
	}
	return s.ListAsApp(spaceName(r), q)
}

// getSpace is spaces.get.
func (s *Server) getSpace(r *http.Request) (any, error) {
	space, _, err := s.SpaceAsApp(spaceName(r))
	return space, err
}

// listSpaces is spaces.list, in one page: all spaces that the app is in.
func (s *Server) listSpaces(r *http.Request) (any, error) {
	if f := r.URL.Query().Get("filter"); f != "" {
		return nil, wire.Errorf(http.StatusBadRequest, "Invalid filter: %.80q", f)
	}
	out := &chat.ListSpacesResponse{}
	for _, v := range s.Spaces() {
		if v.AppIn {
			out.Spaces = append(out.Spaces, v.Space)
		}
	}
	return out, nil
}

// listMembers is spaces.members.list, in one page and without apps, as an app sees it.
func (s *Server) listMembers(r *http.Request) (any, error) {
	space, users, err := s.SpaceAsApp(spaceName(r))
	if err != nil {
		return nil, err
	}
	out := &chat.ListMembershipsResponse{}
	for _, u := range users {
		if u.Type == "HUMAN" {
			out.Memberships = append(out.Memberships, &chat.Membership{
				Name: space.Name + "/members/" + u.Name[len("users/"):], State: "JOINED", Role: "ROLE_MEMBER", CreateTime: space.CreateTime, Member: u,
			})
		}
	}
	return out, nil
}

// noReactions is spaces.messages.reactions: an app's credentials do not suffice for it.
func noReactions(*http.Request) (any, error) {
	return nil, wire.Errorf(http.StatusForbidden, "Request had insufficient authentication scopes.")
}

// downloadMedia is media.download.
func (s *Server) downloadMedia(w http.ResponseWriter, r *http.Request) {
	if err := s.authorised(r); err != nil {
		writeJSON(w, nil, err)
		return
	}
	file, err := s.Media(r.PathValue("resource"))
	if err != nil || r.URL.Query().Get("alt") != "media" {
		writeJSON(w, map[string]string{"resourceName": r.PathValue("resource")}, err)
		return
	}
	w.Header().Set("Content-Type", file.Type)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(file.Data) // the client has gone, there is nobody left to tell
}
