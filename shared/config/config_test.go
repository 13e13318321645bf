package config_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/config"
	"kesoku.dev/shared/config/settings"
)

const kesoku, cronjobs = config.FileKesoku, config.FileCronjobs

func parse(t *testing.T, files map[string]string) *config.Config {
	t.Helper()
	c, err := config.Parse(files)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// P2, P5, P7 to P12, P15, M6: what holds where nothing is written.
func TestDefaults(t *testing.T) {
	t.Parallel()
	want := config.Route{
		Engine: "agent", Model: "openai:gpt-4o-mini", Thinking: true, Role: "default", Locale: "zh",
		Session: config.Session{Ownership: chat.OwnershipShared, Lane: "default"},
		Activation: config.Activation{
			Use: []string{"rule"}, IgnoreSelf: true, AllowPrivate: true, PrivateChatWithoutCommand: true, AllowAtReply: true, AllowQuoteReply: true,
			Activity: config.Activity{Frequency: 1, Threshold: 0.45},
			Judge:    config.Judge{Model: "@decide", MinUrge: 0.55, MinInterval: 60_000, Window: 12, DailyBudget: 200, Concurrency: 2},
		},
		Observe: config.Observe{
			Mode: "off", Self: true, Backfill: settings.Backfill{Limit: 30}, MidTurn: chat.BusyStep, Store: "message",
			Media: settings.Media{PerMessage: 9, Attach: 4},
		},
		Merge: config.Merge{Mode: "immediate", Quiet: 2500, Max: 15_000}, MaxPendingPerRoute: 64,
	}
	for name, files := range map[string]map[string]string{
		"no file": nil, "empty file": {kesoku: ""}, "blank": {kesoku: "\n  \n"}, "empty section": {kesoku: "chat: {}\n"},
		"comments only": {kesoku: "# chat: {}\n", cronjobs: "# jobs:\n"}, "sections without anything": {kesoku: "chat:\ncensor:\nrules:\n"},
	} {
		c := parse(t, files)
		got := c.Resolve(config.Facts{Platform: "googlechat", Channel: "spaces/A"})
		if diff := cmp.Diff(want, got.Route); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if diff := cmp.Diff(config.Render{Thoughts: "folded", Tools: "folded"}, got.Render); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if len(got.Censor.BlockWords)+len(got.Censor.FlagWords)+len(got.Censor.ReplaceRules)+len(got.Sources)+len(got.Diagnostics) != 0 {
			t.Errorf("%s: %+v", name, got)
		}
		if !reflect.DeepEqual(c.Defaults, want) || !reflect.DeepEqual(c.Route("googlechat:spaces/A"), want) {
			t.Errorf("%s: %+v", name, c.Defaults)
		}
	}
}

// P12: what is written replaces its field and leaves its neighbours alone.
func TestWrittenFieldsMerge(t *testing.T) {
	t.Parallel()
	got := parse(t, map[string]string{kesoku: `
chat:
  model: gemini:gemini-2.5-flash
  activation:
    ignoreSelf: false
    nicknames: [kesoku, 结束]
  merge:
    interrupt: true
`}).Route("x")
	want := config.DefaultRoute()
	want.Model, want.Activation.IgnoreSelf, want.Activation.Nicknames = "gemini:gemini-2.5-flash", false, []string{"kesoku", "结束"}
	want.Merge.Interrupt = true
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}

// Every refusal names the file, the key and what is allowed.
func TestRefusals(t *testing.T) {
	t.Parallel()
	chatWith := func(line string) map[string]string { return map[string]string{kesoku: "chat:\n  " + line + "\n"} }
	job := func(change string) map[string]string {
		fields := map[string]string{"name": "daily", "schedule": "0 9 * * *", "prompt": "hello", "chatbot_id": "googlechat", "channel_id": "spaces/A"}
		key, value, _ := strings.Cut(change, ": ")
		fields[key] = value
		text := "jobs:\n  - "
		for k, v := range fields {
			text += k + ": " + v + "\n    "
		}
		return map[string]string{cronjobs: text}
	}
	tests := map[string]struct {
		files map[string]string
		want  []string
	}{
		"engine":               {chatWith("engine: on"), []string{kesoku, "chat.engine", `"on"`, "agent, off"}},
		"locale":               {chatWith("locale: fr"), []string{kesoku, "chat.locale", `"fr"`, "zh, en"}},
		"ownership":            {chatWith("session: {ownership: mine}"), []string{kesoku, "chat.session.ownership", `"mine"`, "shared, personal, custom"}},
		"custom without key":   {chatWith("session: {ownership: custom}"), []string{kesoku, "chat.session.customKey"}},
		"observe mode":         {chatWith("observe: {mode: loud}"), []string{kesoku, "chat.observe.mode", `"loud"`, "off, quiet"}},
		"observe mid-turn":     {chatWith("observe: {midTurn: now}"), []string{kesoku, "chat.observe.midTurn", `"now"`, "step, turn"}},
		"decider":              {chatWith("activation: {use: [rule, oracle]}"), []string{kesoku, "chat.activation.use", `"oracle"`, "rule"}},
		"model without colon":  {chatWith("model: gpt-4o"), []string{kesoku, "chat.model", `"gpt-4o"`, "provider:model", "gemini:"}},
		"model without name":   {chatWith("model: 'gemini:'"), []string{kesoku, "chat.model", "provider:model"}},
		"no provider":          {chatWith("model: ':flash'"), []string{kesoku, "chat.model", "provider:model"}},
		"probability over 1":   {chatWith("activation: {randomReplyFrequency: 1.5}"), []string{kesoku, "chat.activation.randomReplyFrequency", "1.5", "0 to 1"}},
		"probability under 0":  {chatWith("activation: {randomReplyFrequency: -0.1}"), []string{kesoku, "chat.activation.randomReplyFrequency", "0 to 1"}},
		"probability is none":  {chatWith("activation: {randomReplyFrequency: .nan}"), []string{kesoku, "chat.activation.randomReplyFrequency", "0 to 1"}},
		"nobody may wait":      {chatWith("maxPendingPerRoute: 0"), []string{kesoku, "chat.maxPendingPerRoute", "0", "1 to 64"}},
		"too many may wait":    {chatWith("maxPendingPerRoute: 65"), []string{kesoku, "chat.maxPendingPerRoute", "65", "1 to 64"}},
		"role without a file":  {chatWith("role: pirate"), []string{kesoku, "chat.role", "roles/pirate/intro.md"}},
		"unknown key":          {chatWith("modelx: x"), []string{kesoku, "modelx", "[2:3]"}},
		"unknown section":      {map[string]string{kesoku: "chat:\n  locale: en\nchta:\n  locale: en\n"}, []string{kesoku, "chta", "[3:1]"}},
		"wrong type":           {chatWith("maxPendingPerRoute: many"), []string{kesoku, "[2:23]"}},
		"no YAML":              {map[string]string{kesoku: "chat:\n  locale: en\n  model: [a\n"}, []string{kesoku, "[3:"}},
		"written twice":        {map[string]string{kesoku: "chat:\n  locale: en\n  locale: zh\n"}, []string{kesoku, "locale", "[3:3]"}},
		"lane":                 {chatWith("session: {lane: 'a:b'}"), []string{"chat.session.lane", `"a:b"`, "letters"}},
		"no lane":              {chatWith("session: {lane: ''}"), []string{"chat.session.lane"}},
		"key across channels":  {chatWith("session: {ownership: custom, customKey: 'team-{user}'}"), []string{"chat.session.customKey", "{channel}"}},
		"unknown placeholder":  {chatWith("session: {ownership: custom, customKey: '{usr}'}"), []string{"chat.session.customKey", "{usr}", "{user}"}},
		"decider twice":        {chatWith("activation: {use: [rule, rule]}"), []string{"chat.activation.use[1]", "twice"}},
		"blank nickname":       {chatWith("activation: {nicknames: [a, ' ']}"), []string{"chat.activation.nicknames[1]", "not blank"}},
		"cooldown":             {chatWith("activation: {msgCooldown: -1}"), []string{"chat.activation.msgCooldown", "-1", "0 to 86400 seconds"}},
		"frequency":            {chatWith("activation: {activity: {frequency: 2}}"), []string{"chat.activation.activity.frequency", "0 to 1"}},
		"threshold":            {chatWith("activation: {activity: {threshold: -1}}"), []string{"chat.activation.activity.threshold", "0 to 1"}},
		"interests":            {chatWith("activation: {activity: {interests: ['']}}"), []string{"chat.activation.activity.interests[0]"}},
		"judge's model":        {chatWith("activation: {judge: {model: small}}"), []string{"chat.activation.judge.model", `"small"`, "provider:model"}},
		"judge without model":  {chatWith("activation: {use: [judge]}"), []string{"chat.activation.judge.model", "@decide", "models: {decide: provider:model}"}},
		"judge's urge":         {chatWith("activation: {judge: {minUrge: 1.1}}"), []string{"chat.activation.judge.minUrge", "0 to 1"}},
		"judge's interval":     {chatWith("activation: {judge: {minInterval: -1}}"), []string{"chat.activation.judge.minInterval", "0 to 86400000 milliseconds"}},
		"judge's window":       {chatWith("activation: {judge: {window: 0}}"), []string{"chat.activation.judge.window", "1 to 100 messages"}},
		"judge's budget":       {chatWith("activation: {judge: {dailyBudget: -1}}"), []string{"chat.activation.judge.dailyBudget", "0 to 100000"}},
		"judge's concurrency":  {chatWith("activation: {judge: {concurrency: 0}}"), []string{"chat.activation.judge.concurrency", "1 to 64"}},
		"backfill":             {chatWith("observe: {backfill: {limit: 201}}"), []string{"chat.observe.backfill.limit", "0 to 200 messages"}},
		"store":                {chatWith("observe: {store: turn}"), []string{"chat.observe.store", `"turn"`, "message"}},
		"media":                {chatWith("observe: {media: {perMessage: 51}}"), []string{"chat.observe.media.perMessage", "0 to 50"}},
		"media to attach":      {chatWith("observe: {media: {attach: -1}}"), []string{"chat.observe.media.attach", "0 to 50"}},
		"merge":                {chatWith("merge: {mode: later}"), []string{"chat.merge.mode", `"later"`, "immediate, settle"}},
		"merge when direct":    {chatWith("merge: {directMode: later}"), []string{"chat.merge.directMode", "immediate, settle"}},
		"quiet":                {chatWith("merge: {quiet: 0}"), []string{"chat.merge.quiet", "1 to 60000 milliseconds"}},
		"unbalanced pattern":   {map[string]string{kesoku: "censor: {replaceRules: [{pattern: 'a)(b', replacement: x}]}"}, []string{"censor.replaceRules[0].pattern", "unexpected )"}},
		"pattern over an edge": {map[string]string{kesoku: `censor: {replaceRules: [{pattern: "(?i", replacement: x}]}`}, []string{"censor.replaceRules[0].pattern"}},
		"invisible word":       {map[string]string{kesoku: `censor: {blockWords: ["\u200b"]}`}, []string{"censor.blockWords[0]", "no visible character"}},
		"lifecycle":            {map[string]string{kesoku: "lifecycle: [receive, sent]"}, []string{"lifecycle[1]", `"sent"`, "receive, agent-status, rules-change, engine-action"}},
		"longest burst":        {chatWith("merge: {max: 120001}"), []string{"chat.merge.max", "1 to 120000 milliseconds"}},
		"quiet over max":       {chatWith("merge: {quiet: 20000}"), []string{"chat.merge.quiet", "20000 is more than merge.max, 15000"}},
		"unknown model role":   {chatWith("model: '@big'"), []string{"chat.model", `"@big"`, "models is empty"}},
		"role of models":       {map[string]string{kesoku: "models: {Big: a:b}\n"}, []string{"models.Big", "a lower-case letter"}},
		"model of a role":      {map[string]string{kesoku: "models: {big: '@big'}\n"}, []string{"models.big", "provider:model"}},
		"another model role":   {map[string]string{kesoku: "models: {big: a:b}\nchat: {model: '@bug'}"}, []string{"chat.model", "models has big"}},
		"no value":             {chatWith("tools:"), []string{"chat.tools", "leave the key out"}},
		"no section":           {chatWith("merge:"), []string{"chat.merge", "leave the key out"}},
		"blank block word":     {map[string]string{kesoku: "censor: {blockWords: [a, '']}"}, []string{"censor.blockWords[1]", "not blank"}},
		"long flag word":       {map[string]string{kesoku: "censor: {flagWords: [" + strings.Repeat("x", 201) + "]}"}, []string{"censor.flagWords[0]", "200"}},
		"pattern":              {map[string]string{kesoku: "censor: {replaceRules: [{pattern: '(', replacement: x}]}"}, []string{"censor.replaceRules[0].pattern", "missing closing )"}},
		"pattern of nothing":   {map[string]string{kesoku: "censor: {replaceRules: [{pattern: 'a*'}]}"}, []string{"censor.replaceRules[0].pattern", "where there is nothing"}},
		"no pattern":           {map[string]string{kesoku: "censor: {replaceRules: [{replacement: x}]}"}, []string{"censor.replaceRules[0].pattern"}},
		"long pattern":         {map[string]string{kesoku: "censor: {replaceRules: [{pattern: " + strings.Repeat("x", 1001) + "}]}"}, []string{"1000 bytes"}},
		"backreference":        {map[string]string{kesoku: `censor: {replaceRules: [{pattern: '(a)\1'}]}`}, []string{"invalid escape sequence"}},
		"thoughts":             {map[string]string{kesoku: "render: {thoughts: loud}"}, []string{"render.thoughts", `"loud"`, "folded, hidden"}},
		"tools shown":          {map[string]string{kesoku: "render: {tools: all}"}, []string{"render.tools", "folded, hidden"}},
		"quote":                {map[string]string{kesoku: "render: {quote: 2}"}, []string{kesoku, "[1:17]"}},
		"aliases":              {map[string]string{kesoku: "chat: {role: &r default}\nrender: {thoughts: *r}"}, []string{kesoku + ":2", "aliases"}},
		"two documents":        {map[string]string{kesoku: "chat: {}\n---\nchat: {}\n"}, []string{kesoku + ":3", "second document"}},
		"unknown file":         {map[string]string{"kesoku.yml": ""}, []string{"kesoku.yml", kesoku, cronjobs, "roles/<name>/intro.md"}},
		"role in a subfolder":  {map[string]string{"roles/a/b/intro.md": "x"}, []string{"roles/a/b/intro.md", "unknown file"}},
		"role without a name":  {map[string]string{"roles//intro.md": "x"}, []string{"roles//intro.md", "unknown file"}},
		"another role file":    {map[string]string{"roles/a/outro.md": "x"}, []string{"roles/a/outro.md", "unknown file"}},
		"too large":            {map[string]string{"roles/a/intro.md": strings.Repeat("x", 512<<10+1)}, []string{"524289", "524288"}},
		"job name":             {job("name: Daily!"), []string{cronjobs, `job "Daily!"`, "name", "a-z, 0-9"}},
		"job schedule":         {job("schedule: '61 9 * * *'"), []string{cronjobs, `job "daily"`, "schedule", "61"}},
		"six fields":           {job("schedule: '0 0 9 * * *'"), []string{cronjobs, `job "daily"`, "schedule"}},
		"descriptor":           {job("schedule: '@daily'"), []string{cronjobs, `job "daily"`, "schedule"}},
		"zone in the schedule": {job("schedule: TZ=UTC"), []string{cronjobs, `job "daily"`, "schedule", "five fields"}},
		"zone before fields":   {job("schedule: CRON_TZ=Asia/Tokyo 0 9 * * *"), []string{cronjobs, `job "daily"`, "schedule", "five fields"}},
		"job time zone":        {job("time_zone: Mars/Olympus"), []string{cronjobs, `job "daily"`, "time_zone", "Mars/Olympus", "Asia/Tokyo"}},
		"job without prompt":   {job("prompt: ' '"), []string{cronjobs, `job "daily"`, "prompt", "32768"}},
		"job prompt too long":  {job("prompt: " + strings.Repeat("x", 32<<10+1)), []string{cronjobs, `job "daily"`, "prompt", "32768"}},
		"job without channel":  {job("channel_id: ''"), []string{cronjobs, `job "daily"`, "channel_id", "spaces/AAAA"}},
		"job without platform": {job("chatbot_id: ''"), []string{cronjobs, `job "daily"`, "chatbot_id"}},
		"unknown job key":      {job("promt: x"), []string{cronjobs, "promt"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := config.Parse(tt.files)
			if err == nil {
				t.Fatalf("accepted as %+v", c)
			}
			for _, w := range tt.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q does not say %q", err, w)
				}
			}
		})
	}
}

// One look tells everything that is wrong, in both files.
func TestRefusalsAreJoined(t *testing.T) {
	t.Parallel()
	j := "  - name: twice\n    schedule: '0 9 * * *'\n    prompt: p\n    chatbot_id: googlechat\n    channel_id: spaces/A\n"
	_, err := config.Parse(map[string]string{
		kesoku:   "chat:\n  engine: on\n  locale: fr\n  model: x\n",
		cronjobs: "jobs:\n" + j + j + "  - name: bare\n",
	})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, w := range []string{"chat.engine", "chat.locale", "chat.model", `two jobs are named "twice"`, `job "bare": schedule`, `job "bare": prompt`} {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
	_, err = config.Parse(map[string]string{kesoku: "chta: 1\n", cronjobs: "job: 1\n", "x": ""})
	for _, w := range []string{"chta", "job", "x: unknown file"} {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Errorf("%v does not say %q", err, w)
		}
	}
}

// A3: a role's own persona, else the default role's, else one that is built in.
func TestIntro(t *testing.T) {
	t.Parallel()
	both := parse(t, map[string]string{"roles/default/intro.md": "plain", "roles/pirate/intro.md": "arr", "roles/blank/intro.md": " \n"})
	for role, want := range map[string]string{"pirate": "arr", "default": "plain", "": "plain", "nobody": "plain", "blank": "plain"} {
		if got := both.Intro(role); got != want {
			t.Errorf("Intro(%q) = %q, want %q", role, got, want)
		}
	}
	if got := parse(t, nil).Intro("pirate"); !strings.Contains(got, "Kesoku") {
		t.Errorf("without any file: %q", got)
	}
	c := parse(t, map[string]string{kesoku: "chat: {role: pirate}", "roles/pirate/intro.md": "arr"})
	if got := c.Route("x").Role; got != "pirate" {
		t.Errorf("role %q", got)
	}
}

func TestJob(t *testing.T) {
	t.Parallel()
	c := parse(t, map[string]string{cronjobs: "jobs:\n  - {name: daily, schedule: '0 9 * * 1-5', time_zone: Asia/Tokyo, prompt: p, chatbot_id: googlechat, channel_id: spaces/A}\n"})
	j, ok := c.Job("daily")
	if !ok || j.RouteID() != "googlechat:spaces/A" || j.TimeZone != "Asia/Tokyo" {
		t.Errorf("%+v, %v", j, ok)
	}
	if _, ok := c.Job("weekly"); ok {
		t.Error("a job that nobody wrote")
	}
}

// Outside text never brings the parser down.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "chat: {}", "chat:\n  model: a:b\n", "- x", "chat: &a {locale: *a}", "jobs:\n - name: x\n   schedule: TZ=UTC\n", ruled} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, main, cron string) {
		c, err := config.Parse(map[string]string{kesoku: main, cronjobs: cron})
		if (c == nil) == (err == nil) {
			t.Errorf("%v, %v", c, err)
		}
		if err != nil {
			return
		}
		r := c.Resolve(config.Facts{Platform: "p", Channel: "spaces/A", User: "users/1", AtMe: true, Text: main})
		if problem := broken(r.Route); problem != "" {
			t.Errorf("%+v: %s", r.Route, problem)
		}
	})
}

// broken tells what no resolution may come to.
func broken(r config.Route) string {
	switch {
	case r.Session.Ownership == chat.OwnershipCustom && r.Session.CustomKey == "":
		return "ownership custom without a key"
	case r.Merge.Quiet > r.Merge.Max:
		return "quiet over max"
	case !strings.Contains(r.Model, ":") || strings.HasPrefix(r.Model, "@"):
		return "no model"
	case slices.Contains(r.Activation.Use, "judge") && strings.HasPrefix(r.Activation.Judge.Model, "@"):
		return "a judge without a model"
	default:
		return ""
	}
}
