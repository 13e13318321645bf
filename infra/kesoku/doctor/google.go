package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	"cloud.google.com/go/auth/credentials"
	"cloud.google.com/go/auth/httptransport"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"
	"google.golang.org/api/secretmanager/v1"
	"google.golang.org/api/serviceusage/v1"
)

const (
	scopeCloud = "https://www.googleapis.com/auth/cloud-platform"
	scopeChat  = "https://www.googleapis.com/auth/chat.bot"
)

// projectID is Google's rule for one.
var projectID = regexp.MustCompile(`^[a-z][a-z0-9-]{4,28}[a-z0-9]$`)

func (e *examination) project(context.Context) Finding {
	if !projectID.MatchString(e.Project) {
		return ill(fmt.Sprintf("%q can be no project id", e.Project), "write the project's id (not its name or number) into --project or GOOGLE_CLOUD_PROJECT")
	}
	e.named = true
	if e.Local {
		return well("%s, on the emulators", e.Project)
	}
	return well("%s", e.Project)
}

// credentials finds the application's default credentials and asks for a token.
func (e *examination) credentials(ctx context.Context) Finding {
	client, err := authed(ctx, scopeCloud)
	if err != nil {
		if e.Local {
			return skip("none that work, and the emulators need none: %v", err)
		}
		return ill(err.Error(), "run gcloud auth application-default login, or name a key file in GOOGLE_APPLICATION_CREDENTIALS")
	}
	e.authed = client
	return well("application default credentials give a token")
}

// authed returns a client that carries the default credentials, after making sure that they give a token.
func authed(ctx context.Context, scope string) (*http.Client, error) {
	creds, err := credentials.DetectDefault(&credentials.DetectOptions{Scopes: []string{scope}})
	if err != nil {
		return nil, fmt.Errorf("no credentials: %w", err)
	}
	if _, err := creds.Token(ctx); err != nil {
		return nil, fmt.Errorf("the credentials give no token: %w", err)
	}
	client, err := httptransport.NewClient(&httptransport.Options{Credentials: creds, DisableTelemetry: true})
	if err != nil {
		return nil, fmt.Errorf("client with credentials: %w", err)
	}
	client.Timeout = stepTime
	return client, nil
}

// apisInUse lists those that a deployment lives on, at work; what only deploying needs is missed by whoever deploys. Spans go to telemetry, which
// drops them without cloudtrace. Models are asked by Vertex AI where there is no secret, and so no key.
func (e *examination) apisInUse() []string {
	used := []string{
		"chat", "cloudfunctions", "cloudscheduler", "cloudtrace", "firestore", "pubsub", "run", "secretmanager", "storage", "telemetry", "workspaceevents",
	}
	if len(e.Secrets) == 0 {
		used = append(used, "aiplatform")
	}
	return used
}

func (e *examination) apis(ctx context.Context) Finding {
	if e.Local && e.ServicesEndpoint == "" {
		return skip("emulators have none to enable")
	}
	service, err := serviceusage.NewService(ctx, e.options(e.ServicesEndpoint)...)
	if err != nil {
		return ill(err.Error(), "this is a fault of the command itself: report it")
	}
	parent := "projects/" + e.Project
	used := e.apisInUse()
	names := make([]string, len(used))
	for i, api := range used {
		names[i] = parent + "/services/" + api + ".googleapis.com"
	}
	got, err := service.Services.BatchGet(parent).Names(names...).Context(ctx).Do()
	if err != nil {
		return ill("Service Usage does not answer: "+reason(err), "give yourself roles/serviceusage.serviceUsageViewer on the project, and run it again")
	}
	var off []string
	for _, s := range got.Services {
		if s.State != "ENABLED" {
			off = append(off, s.Name[strings.LastIndex(s.Name, "/")+1:])
		}
	}
	if len(off) > 0 {
		list := strings.Join(off, " ")
		return ill("not enabled: "+list, "run gcloud services enable "+list+" --project "+e.Project)
	}
	return well("%d are enabled", len(got.Services))
}

func (e *examination) secrets(ctx context.Context) Finding {
	switch {
	case e.Local && e.SecretsEndpoint == "":
		return skip("the local stack keeps none")
	case len(e.Secrets) == 0:
		return skip("none are named; name them by --secret")
	}
	service, err := secretmanager.NewService(ctx, e.options(e.SecretsEndpoint)...)
	if err != nil {
		return ill(err.Error(), "this is a fault of the command itself: report it")
	}
	for _, id := range e.Secrets {
		name := "projects/" + e.Project + "/secrets/" + id + "/versions/latest"
		version, err := service.Projects.Secrets.Versions.Get(name).Context(ctx).Do() // that it is there; what it says is nobody's business here
		var api *googleapi.Error
		switch {
		case errors.As(err, &api) && api.Code == http.StatusNotFound:
			return ill("secret "+id+" has no version", "run gcloud secrets versions add "+id+" --data-file=- --project "+e.Project)
		case err != nil:
			return ill("secret "+id+": "+reason(err), "give yourself roles/secretmanager.viewer on it, and run it again")
		case version.State != "ENABLED":
			return ill("the newest version of secret "+id+" is "+strings.ToLower(version.State), "enable it, or add a new one by gcloud secrets versions add "+id)
		}
	}
	return well("%s", strings.Join(e.Secrets, ", "))
}

func (e *examination) options(endpoint string) []option.ClientOption {
	opts := []option.ClientOption{option.WithHTTPClient(e.authed)}
	if endpoint != "" {
		opts = append(opts, option.WithEndpoint(strings.TrimSuffix(endpoint, "/")+"/"))
	}
	return opts
}

// reason is an API's own message without the body that follows it.
func reason(err error) string {
	var api *googleapi.Error
	if errors.As(err, &api) {
		return fmt.Sprintf("%d %s", api.Code, api.Message)
	}
	return err.Error()
}

const googleChat = "https://chat.googleapis.com"

// chat asks for one space, as the app.
func (e *examination) chat(ctx context.Context) Finding {
	client, err := authed(ctx, scopeChat)
	if err != nil {
		return ill("no token for the app's scope: "+err.Error(), "run as a service account of the project: name its key in GOOGLE_APPLICATION_CREDENTIALS, or "+
			"gcloud auth application-default login --impersonate-service-account=ACCOUNT")
	}
	base := e.chatEndpoint()
	status, _, err := get(ctx, client, http.MethodGet, base+"/v1/spaces?pageSize=1", nil)
	switch {
	case err != nil:
		return ill("the Chat API does not answer: "+err.Error(), "check the network and --chat-endpoint")
	case status == http.StatusOK:
		return well("answers the app")
	case status == http.StatusUnauthorized:
		return ill("the Chat API does not accept the credentials (401)", "run as a service account of the project")
	case status == http.StatusForbidden:
		return ill("the Chat API refuses the app (403)", "enable chat.googleapis.com, and run as a service account of the project in which the Chat app is configured")
	case status == http.StatusNotFound:
		return ill("the Chat API knows no app of this project (404)", "configure the app: console, Google Chat API, Configuration")
	default:
		return ill(fmt.Sprintf("the Chat API answers %d", status), "if it stays so, look at Google's status page")
	}
}

func (e *examination) chatEndpoint() string {
	if e.ChatEndpoint == "" {
		return googleChat
	}
	return strings.TrimSuffix(e.ChatEndpoint, "/")
}

// get sends a request and returns the answer's status and header; of its body it reads no more than lets the connection be used again.
func get(ctx context.Context, client *http.Client, method, url string, header http.Header) (status int, h http.Header, err error) {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader("{}"))
	if err != nil {
		return 0, nil, fmt.Errorf("make request: %w", err)
	}
	if method != http.MethodPost {
		req.Body, req.ContentLength = nil, 0
	}
	req.Header.Set("Content-Type", "application/json")
	for name := range header {
		req.Header.Set(name, header.Get(name))
	}
	res, err := client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = res.Body.Close() }() // read as far as it matters
	_, _ = io.CopyN(io.Discard, res.Body, 64<<10)
	return res.StatusCode, res.Header, nil
}

// webhook must refuse whoever cannot prove to be Google: a caller without a token, and one with an invented token.
func (e *examination) webhook(ctx context.Context) Finding {
	if e.Webhook == "" {
		return skip("no URL; give it by --webhook")
	}
	for _, token := range []string{"", "Bearer invented"} {
		header := http.Header{}
		if token != "" {
			header.Set("Authorization", token)
		}
		status, _, err := get(ctx, e.plain, http.MethodPost, e.Webhook, header)
		if f, bad := judgeWebhook(status, err, token != ""); bad {
			return f
		}
	}
	return well("answers, and refuses callers without a valid token by 401")
}

func judgeWebhook(status int, err error, withToken bool) (f Finding, bad bool) {
	switch {
	case err != nil:
		return ill("does not answer: "+err.Error(), "check the URL, and that the function is deployed"), true
	case status == http.StatusUnauthorized:
		return f, false
	case status == http.StatusForbidden:
		return ill("Cloud Run turns callers away before the function sees them (403)", "give allUsers roles/run.invoker on the service: the function checks tokens itself"), true
	case status < 300 && withToken:
		return ill(fmt.Sprintf("takes an invented token (%d)", status), "somebody else answers under this URL, or the function is not ours: stop it and deploy again"), true
	case status < 300:
		return ill(fmt.Sprintf("takes a call without a token (%d)", status), "somebody else answers under this URL, or the function is not ours: stop it and deploy again"), true
	case status == http.StatusNotFound:
		return ill("nothing is there (404)", "check the URL's path, and that the function is deployed"), true
	case status >= 500:
		return ill(fmt.Sprintf("the function does not start (%d)", status), "read its log: kesoku logs --function googlechat --severity ERROR"), true
	default:
		return ill(fmt.Sprintf("answers %d, not 401", status), "check the URL, and that nothing stands between it and the function"), true
	}
}

// maxSkew is how far this machine's clock may be off: a Date header has whole seconds, and the way there takes its time.
const maxSkew = 10 * time.Second

// skew compares this machine's clock with the webhook's, or else with the Chat API's.
func (e *examination) skew(ctx context.Context) Finding {
	url, method := e.Webhook, http.MethodPost
	if url == "" {
		url, method = e.chatEndpoint(), http.MethodGet
	}
	_, header, err := get(ctx, e.plain, method, url, nil)
	if err != nil {
		return skip("nobody tells the time: %v", err)
	}
	there, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		return skip("%s tells no time", url)
	}
	off := e.Clock.Now().Sub(there).Round(time.Second)
	if off > maxSkew || off < -maxSkew {
		return ill(fmt.Sprintf("this machine's clock is %s off %s's", off.Abs(), url), "set it by NTP: tokens are valid by the clock, and what is said here of ages is wrong")
	}
	return well("within %s", maxSkew)
}
