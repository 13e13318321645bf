package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kesoku.dev/shared/clock"
	"kesoku.dev/shared/testenv"
)

const goodConfig = "chat:\n  model: gemini:gemini-2.5-flash\n  activation:\n    nicknames: [kesoku, 结束]\n  locale: en\n"

func folderOf(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// All faults are told at once, each with its file and line; hidden files are none of ours.
func TestConfigCheck(t *testing.T) {
	t.Parallel()
	broken := folderOf(t, map[string]string{
		"kesoku.yaml":   "chat:\n  engine: on\n  locale: fr\n  session:\n    ownership: mine\n  role: pirate\n",
		"cronjobs.yaml": "jobs:\n  - name: daily\n    schedule: 61 9 * * *\n    chatbot_id: googlechat\n    channel_id: spaces/A\n",
		"notes.txt":     "", ".hidden": "",
	})
	unreadable := folderOf(t, map[string]string{"kesoku.yaml": "chat:\n  locale: en\n  tongue: x\n"})
	unknown := folderOf(t, map[string]string{"kesoku.yaml": "chat:\n  model: acme:large\nmodels: {decide: acme:small}\nrules:\n" +
		"  - {id: a, filter: {kind: direct}, values: {chat: {model: acme:tiny}}}\n"})
	ruled := folderOf(t, map[string]string{"kesoku.yaml": "rules:\n  - id: a\n    filter: {kind: scope, field: room, values: []}\n" +
		"    values:\n      chat: {engine: on}\n"})
	golden(t, "config-check.txt", kesoku(t, nil, "", "config", "check", broken).transcript()+
		kesoku(t, nil, "", "config", "check", broken, "--json").transcript()+
		kesoku(t, nil, "", "config", "check", unreadable).transcript()+kesoku(t, nil, "", "config", "check", unknown).transcript()+
		kesoku(t, nil, "", "config", "check", ruled).transcript())
	kesoku(t, nil, "", "config", "check", folderOf(t, map[string]string{"kesoku.yaml": goodConfig, ".hidden": "x"})).want(t, 0, "1 file, no fault")
	kesoku(t, nil, "", "config", "check", filepath.Join(broken, "none")).want(t, 1, "name the folder")
	kesoku(t, nil, "", "config", "check", filepath.Join("..", "..", "config")).want(t, 0, "no fault")
}

// A push shows what changes, asks, and publishes over what it showed; nobody's change is lost.
func TestConfigPushAndPull(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	first := folderOf(t, map[string]string{"kesoku.yaml": goodConfig})
	second := folderOf(t, map[string]string{"kesoku.yaml": strings.Replace(goodConfig, "en", "zh", 1), "roles/default/intro.md": "You are Kesoku.\n"})

	kesoku(t, env, "", "config", "pull", t.TempDir()).want(t, 1, "nothing is published", "config push")
	kesoku(t, env, "", "config", "push", first).want(t, 1, "nobody said yes", "--yes")
	kesoku(t, env, "no\n", "config", "push", first).want(t, 1, "nobody said yes")
	kesoku(t, env, "y\n", "config", "push", first).want(t, 0, "revision 1", "+  locale: en")
	kesoku(t, env, "", "config", "push", first).want(t, 0, "nothing to publish")

	r := kesoku(t, env, "yes\n", "config", "push", second)
	golden(t, "config-push.txt", strings.ReplaceAll(r.transcript(), env.ProjectID, "PROJECT"))
	kesoku(t, env, "", "config", "push", first, "--yes", "--base", "1").want(t, 1, "CONFLICT", "the current one is 2", "config pull")
	kesoku(t, env, "", "config", "push", first, "--yes", "--json").want(t, 0, `"revision": 3`)

	kesoku(t, env, "", "config", "pull", first).want(t, 0, "revision 3: 0 files written")
	kesoku(t, env, "", "config", "pull", second).want(t, 1, "kesoku.yaml", "--force")
	kesoku(t, env, "", "config", "pull", second, "--force").want(t, 0, "1 file written")
	fresh := filepath.Join(t.TempDir(), "new")
	kesoku(t, env, "", "config", "pull", fresh).want(t, 0, "1 file written")
	if text, err := os.ReadFile(filepath.Join(fresh, "kesoku.yaml")); err != nil || string(text) != goodConfig {
		t.Errorf("%q, %v", text, err)
	}
}

// What is wrong is never published.
func TestConfigPushRefusesFaults(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	kesoku(t, env, "", "config", "push", folderOf(t, map[string]string{"kesoku.yaml": "chat:\n  locale: fr\n"}), "--yes").want(t, 1, "kesoku.yaml:2", "zh, en")
	if _, revision, err := newStore(t, env, clock.System{}).Config(t.Context()); revision != 0 || err != nil {
		t.Errorf("revision %d, %v", revision, err)
	}
}

const ruledConfig = goodConfig + `models:
  decide: gemini:gemini-2.5-flash-lite
locked: [chat.engine]
rules:
  - id: quiet-room
    filter: {kind: scope, field: channel, values: [spaces/AAAA]}
    values:
      chat:
        engine: "off"
        observe: {mode: quiet}
      censor:
        replaceRules: [{pattern: "[0-9]{16}", replacement: card}]
  - id: boss
    filter:
      kind: and
      operands:
        - {kind: scope, field: user, values: [users/1]}
        - {kind: at-me}
    values:
      chat: {model: "@decide"}
      render: {quote: true}
  - id: moon
    filter: {kind: custom, id: full-moon}
`

// P12: each effective setting of a message in a route, the rule and the line that give it, what locks keep out and what is to be mended.
func TestConfigExplain(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	publishConfig(t, env, map[string]string{"kesoku.yaml": ruledConfig})
	boss := []string{"config", "explain", "googlechat:spaces/AAAA", "--user", "users/1", "--at", "--text", "hi"}
	golden(t, "config-explain.txt", kesoku(t, env, "", boss...).transcript()+
		kesoku(t, env, "", "config", "explain", "googlechat:spaces/B").transcript())
	var got struct {
		Revision int
		Rules    []string
		Settings []struct {
			Name, Rule, From string
			Value            any
		}
		Suppressed []struct{ Path, Rule, LockedBy, From string }
	}
	decode(t, kesoku(t, env, "", append(boss, "--json")...), &got)
	if got.Revision != 1 || strings.Join(got.Rules, " ") != "global quiet-room boss" || len(got.Suppressed) != 1 || got.Suppressed[0].LockedBy != "global" {
		t.Errorf("%+v", got)
	}
	if s := got.Settings[1]; s.Name != "chat.model" || s.Rule != "boss" || s.From != "kesoku.yaml:25" || s.Value != "gemini:gemini-2.5-flash-lite" {
		t.Errorf("%+v", s)
	}
	kesoku(t, nil, "", "config", "explain", "googlechat:spaces/AAAA", "--dir", filepath.Join("..", "..", "config")).want(t, 0, "global")
}
