package doctor

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"google.golang.org/api/cloudfunctions/v2"
)

// Functions are all that a deployment is made of; the first is the webhook.
var Functions = []string{"googlechat", "pipeline", "turn", "deliver", "cron", "sweep"}

// functions asks the platform which are deployed, whether they run, and whether the webhook checks tokens for the URL that Google calls.
func (e *examination) functions(ctx context.Context) Finding {
	if e.Local && e.FunctionsEndpoint == "" {
		return skip("the local stack runs them itself; the webhook step asks one")
	}
	service, err := cloudfunctions.NewService(ctx, e.options(e.FunctionsEndpoint)...)
	if err != nil {
		return ill(err.Error(), "this is a fault of the command itself: report it")
	}
	deployed := map[string]*cloudfunctions.Function{}
	err = service.Projects.Locations.Functions.List("projects/"+e.Project+"/locations/-").Pages(ctx, func(page *cloudfunctions.ListFunctionsResponse) error {
		for _, f := range page.Functions {
			deployed[path.Base(f.Name)] = f
		}
		return nil
	})
	if err != nil {
		return ill("Cloud Functions does not answer: "+reason(err), "give yourself roles/cloudfunctions.viewer on the project, and run it again")
	}
	return e.judgeFunctions(deployed)
}

func (e *examination) judgeFunctions(deployed map[string]*cloudfunctions.Function) Finding {
	missing := slices.DeleteFunc(slices.Clone(Functions), func(name string) bool { return deployed[name] != nil })
	if len(missing) > 0 {
		return ill("not deployed: "+strings.Join(missing, " "), "run make package, then "+terraform)
	}
	for _, name := range Functions {
		if f := deployed[name]; f.State != "ACTIVE" {
			says := fmt.Sprintf("%s is %s", name, strings.ToLower(f.State))
			for _, m := range f.StateMessages {
				says += ": " + m.Message
			}
			return ill(says, "wait if it is deploying; else read its build's log, correct it, and "+terraform)
		}
	}
	return e.judgeAudience(deployed[Functions[0]])
}

// judgeAudience holds the audience that the webhook demands of tokens against the URL that Google calls it by: where they differ, every message
// is refused, and nobody sees more of it than that the app is silent.
func (e *examination) judgeAudience(webhook *cloudfunctions.Function) Finding {
	if e.Webhook == "" {
		e.Webhook = webhook.Url
	}
	var env map[string]string
	if webhook.ServiceConfig != nil {
		env = webhook.ServiceConfig.EnvironmentVariables
	}
	const audience = "CHAT_AUDIENCE"
	if got := env[audience]; strings.TrimSuffix(got, "/") != strings.TrimSuffix(e.Webhook, "/") {
		return ill(fmt.Sprintf("the webhook takes tokens for %q, but is called by %q: it refuses what Google sends", got, e.Webhook),
			"set webhook_url in terraform.tfvars to the URL that the Chat app's configuration has, and "+terraform)
	}
	return well("%d are deployed, and the webhook takes tokens for its own URL", len(Functions))
}
