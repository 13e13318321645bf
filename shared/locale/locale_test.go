package locale

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"kesoku.dev/shared/message"
	"kesoku.dev/shared/model"
)

func TestFor(t *testing.T) { // M6
	t.Parallel()
	for _, c := range []struct {
		tags []string
		want string
	}{
		{nil, "zh"},
		{[]string{""}, "zh"},
		{[]string{"en"}, "en"},
		{[]string{"en-GB", "zh"}, "en"},
		{[]string{"en_US"}, "en"},
		{[]string{"EN"}, "en"},
		{[]string{"zh-CN", "en"}, "zh"},
		{[]string{"zh-TW", "en"}, "zh"},
		{[]string{"zh-Hant-HK", "en"}, "zh"},
		{[]string{"zh_CN", "en"}, "zh"},
		{[]string{"fr-FR", "en"}, "en"}, // another language: the route's
		{[]string{"fr-FR", "zh"}, "zh"},
		{[]string{"ja", "en"}, "en"},
		{[]string{"", "en"}, "en"},
		{[]string{"not a tag!", "en"}, "en"},
		{[]string{strings.Repeat("en-", 100), "en"}, "en"},
		{[]string{"und", "en"}, "en"},
		{[]string{"de"}, "zh"},
	} {
		if got := For(c.tags...).Tag(); got != c.want {
			t.Errorf("For(%q) is %s, want %s", c.tags, got, c.want)
		}
	}
}

var verb = regexp.MustCompile(`%[^%]*?[a-zA-Z]`)

// texts walks everything that people can read, by its place in phrases.
func texts(p phrases) map[string]string {
	out := map[string]string{}
	v := reflect.ValueOf(p)
	for i := range v.NumField() {
		name, f := v.Type().Field(i).Name, v.Field(i)
		switch f.Kind() {
		case reflect.String:
			out[name] = f.String()
		case reflect.Struct:
			out[name+".one"], out[name+".other"] = f.Field(0).String(), f.Field(1).String()
		case reflect.Map:
			for _, k := range f.MapKeys() {
				out[name+"."+k.String()] = f.MapIndex(k).String()
			}
		default:
			out[name] = "" // a kind that this walk does not know is reported as empty
		}
	}
	return out
}

func TestBothLanguagesSayEverything(t *testing.T) { // M6
	t.Parallel()
	a, b := texts(zh), texts(en)
	if left, right := slices.Sorted(maps.Keys(a)), slices.Sorted(maps.Keys(b)); !slices.Equal(left, right) {
		t.Fatalf("zh has %q, en has %q", left, right)
	}
	for name, text := range a {
		if strings.TrimSpace(text) == "" || strings.TrimSpace(b[name]) == "" {
			t.Errorf("%s is empty: zh %q, en %q", name, text, b[name])
		}
		left, right := verb.FindAllString(text, -1), verb.FindAllString(b[name], -1)
		slices.Sort(left)
		slices.Sort(right)
		if !slices.Equal(left, right) {
			t.Errorf("%s fills in %q in zh and %q in en", name, left, right)
		}
		if strings.ContainsFunc(b[name], func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
			t.Errorf("%s is not English: %q", name, b[name])
		}
	}
}

// Nobody is told to send a command: there is none.
func TestNoCommands(t *testing.T) {
	t.Parallel()
	for _, p := range []phrases{zh, en} {
		for name, text := range texts(p) {
			if command.MatchString(text) {
				t.Errorf("%s of %s tells of a command: %q", name, p.tag, text)
			}
		}
	}
}

var command = regexp.MustCompile(`(^|[^\pL])/[a-z]+`)

// TestMethods calls every method of Texts in both languages: each says something of its own, and nothing is left to fill in.
func TestMethods(t *testing.T) {
	t.Parallel()
	said := map[string]string{}
	for _, texts := range []Texts{{&zh}, {&en}} {
		v := reflect.ValueOf(texts)
		for i := range v.NumMethod() {
			name, m := v.Type().Method(i).Name, v.Method(i)
			var args []reflect.Value
			for j := range m.Type().NumIn() {
				args = append(args, sample(t, m.Type().In(j)))
			}
			got := m.Call(args)[0].String()
			if got == "" || strings.Contains(got, "%!") || strings.Contains(got, "%[") {
				t.Errorf("%s of %s: %q", name, texts.Tag(), got)
			}
			if other, ok := said[got]; ok {
				t.Errorf("%s says what %s says: %q", name, other, got)
			}
			said[got] = name
		}
	}
}

func sample(t *testing.T, typ reflect.Type) reflect.Value {
	t.Helper()
	switch typ {
	case reflect.TypeFor[int]():
		return reflect.ValueOf(3)
	case reflect.TypeFor[string]():
		return reflect.ValueOf("Bo")
	case reflect.TypeFor[Reason]():
		return reflect.ValueOf(ReasonContext)
	case reflect.TypeFor[message.TurnMetrics]():
		return reflect.ValueOf(message.TurnMetrics{SessionTurns: 1})
	default:
		t.Fatalf("no sample of %s", typ)
		return reflect.Value{}
	}
}

func TestWording(t *testing.T) {
	t.Parallel()
	z, e := For("zh"), For("en")
	metrics := message.TurnMetrics{SessionTurns: 3, ContextTokens: 8421, TurnToolCalls: 1, TurnTokens: 1042, TurnTime: 2.1}
	long := message.TurnMetrics{SessionTurns: 12, ContextTokens: 999_960, TurnTokens: 999, TurnTime: 125.6}
	for got, want := range map[string]string{
		z.Compacted():                     "🔄 聊天历史已自动压缩。",                // the seed's own words
		z.CrashNotice("no such reason"):   "⚠️ 处理您的请求时发生异常: 内部错误，请稍后再试。", // the seed's own words
		e.CrashNotice(ReasonRequest):      "⚠️ Something went wrong while handling your request: the model refused the request.",
		z.Footer(metrics):                 "2.1 秒 · 1 次工具调用 · 1.0k tokens · 上下文 8.4k · 第 3 轮",
		e.Footer(metrics):                 "2.1 s · 1 tool call · 1.0k tokens · context 8.4k · turn 3",
		e.Footer(long):                    "2 min 5 s · 999 tokens · context 1.0M · turn 12",
		z.Footer(long):                    "2 分 5 秒 · 999 tokens · 上下文 1.0M · 第 12 轮",
		e.Fold(1):                         "Thinking and tools · 1 step",
		e.Fold(2):                         "Thinking and tools · 2 steps",
		z.EarlierSteps(7):                 "… 之前还有 7 步",
		e.EarlierSteps(1):                 "… 1 earlier step",
		e.StoppedBy(""):                   "⏹️ Stopped.",
		e.StoppedBy("100% Bo %s"):         "⏹️ Stopped by 100% Bo %s.",
		z.UnknownModel("openai:no-model"): "⚠️ 找不到模型“openai:no-model”，消息没有得到处理。请联系管理员检查模型设置。",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestReasonsAreFaults holds the reasons and the faults of models together: each fault that is told as a crash has words of its own.
func TestReasonsAreFaults(t *testing.T) {
	t.Parallel()
	for _, kind := range []model.FaultKind{
		model.FaultRateLimited, model.FaultOverloaded, model.FaultContext, model.FaultCredentials, model.FaultRequest, model.FaultUnsupported,
		model.FaultMalformedCall,
	} {
		if _, ok := zh.reasons[Reason(kind)]; !ok {
			t.Errorf("no words for a fault %q", kind)
		}
	}
}
