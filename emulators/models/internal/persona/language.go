package persona

import (
	_ "embed"
	"fmt"
	"regexp"
	"strings"
	"time"
)

//go:embed long_en.md
var longEnglish string

//go:embed long_zh.md
var longChinese string

// language is what the persona says in one language; %s stand where it quotes.
type language struct {
	chinese    bool
	comma      string
	hello      string // what was said
	address    string // name, text
	files      string
	noTool     string
	toolFailed string // tool, reason
	thinkPlain string
	thinkSlow  string
	toolThinks string // the tools
	thought    string
	recovered  string
	summary    string
	long       string
	timeIs     string // city, time of day, date
	page       string // the first lines
	remembered string
	recalled   string
}

var english = &language{
	comma: ", ",
	hello: "Hello! You wrote “%s”. I am the local stand-in for a model: I have no knowledge of my own, but I can show what Kesoku does. Try:\n\n" +
		"- what time is it in Tokyo and Paris?\n- remember that the build is frozen on Friday\n- what do you remember?\n" +
		"- read this page https://example.com\n- write a long text\n- think hard about it (and press Stop)\n- fail with 429",
	address:    "**%s**: %s",
	files:      "I also got a file: %s.",
	noTool:     "I would call the tool `%s` for this, but it is not offered to me here.",
	toolFailed: "The tool `%s` did not work: %s",
	thinkPlain: "The person expects a short, friendly answer. I will say what I am and what can be tried.",
	thinkSlow: "Let me take this slowly. First I look at what is really asked. Then I collect what speaks for each answer. Then what speaks " +
		"against it. I compare the two. I check whether something was overlooked. Nothing was, so I can answer now.",
	toolThinks: "I do not know this myself, so I ask: %s.",
	thought:    "I have thought about it for a while, and I still say: it depends.",
	recovered:  "I was told to fail, and this time it worked.",
	summary:    "Summary of the conversation so far:",
	long:       longEnglish,
	timeIs:     "In %s it is %s, on %s.",
	page:       "The page begins like this:\n\n%s",
	remembered: "I will remember it: %s",
	recalled:   "This is what I remember:\n\n%s",
}

var chinese = &language{
	chinese: true,
	comma:   "、",
	hello: "你好！你说的是“%s”。我是本地的模型替身：自己没有知识，但可以演示 Kesoku 的功能。可以试试：\n\n" +
		"- 东京和巴黎现在几点？\n- 记住周五封版\n- 你还记得什么？\n- 读一下这个网页 https://example.com\n- 写一篇长文\n- 慢慢想（然后按“停止”）\n- fail with 429",
	address:    "**%s**：%s",
	files:      "我还收到了文件：%s。",
	noTool:     "这件事我会调用工具 `%s`，但这里没有提供给我。",
	toolFailed: "工具 `%s` 没有成功：%s",
	thinkPlain: "对方想要一个简短友好的回答。我会说明我是谁，以及可以试什么。",
	thinkSlow:  "慢慢来。先看清楚问的到底是什么。再收集支持每种答案的理由。然后是反对的理由。把两边比较一下。检查有没有漏掉什么。没有漏掉，可以回答了。",
	toolThinks: "这个我自己不知道，所以去问：%s。",
	thought:    "我想了好一会儿，结论还是：看情况。",
	recovered:  "你让我失败，不过这一次成功了。",
	summary:    "到目前为止的对话摘要：",
	long:       longChinese,
	timeIs:     "%s现在是%s，%s。",
	page:       "这个网页的开头是：\n\n%s",
	remembered: "我记住了：%s",
	recalled:   "我记得这些：\n\n%s",
}

func languageOf(text string) *language {
	if isChinese(text) {
		return chinese
	}
	return english
}

// thinkTool says which tools it is about to call.
func (l *language) thinkTool(calls []Call) string {
	var names []string
	for _, c := range calls {
		for _, key := range []string{"timezone", "url", "note", "query"} {
			if value, ok := c.Args[key]; ok {
				names = append(names, fmt.Sprintf("%s(%v)", c.Tool, value))
			}
		}
	}
	return fmt.Sprintf(l.toolThinks, strings.Join(names, l.comma))
}

// report puts a result into words.
func (l *language) report(d Done) string {
	switch d.Tool {
	case toolTime:
		return l.reportTime(d)
	case toolFetch:
		return fmt.Sprintf(l.page, quote(d.Content, 6))
	case toolRemember:
		return fmt.Sprintf(l.remembered, d.Args["note"])
	default:
		return fmt.Sprintf(l.recalled, clip(strings.TrimSpace(d.Content), 1500))
	}
}

// clockPattern finds a date and time as tools write them.
var clockPattern = regexp.MustCompile(`(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2})`)

// reportTime says the time in words; a result in which there is none is quoted.
func (l *language) reportTime(d Done) string {
	m := clockPattern.FindStringSubmatch(d.Content)
	if m == nil {
		return clip(strings.TrimSpace(d.Content), 300)
	}
	at, err := time.Parse("2006-01-02 15:04", m[1]+" "+m[2])
	if err != nil {
		return clip(strings.TrimSpace(d.Content), 300)
	}
	place := l.place(fmt.Sprint(d.Args["timezone"]))
	if l.chinese {
		weekday := []string{"日", "一", "二", "三", "四", "五", "六"}[at.Weekday()]
		return fmt.Sprintf(l.timeIs, place, l.partOfDay(at.Hour())+at.Format("15:04"), at.Format("2006年1月2日")+"星期"+weekday)
	}
	return fmt.Sprintf(l.timeIs, place, at.Format("3:04 ")+l.partOfDay(at.Hour()), at.Format("Monday, 2 January 2006"))
}

func (l *language) partOfDay(hour int) string {
	words := []string{"at night", "in the morning", "in the afternoon", "in the evening"}
	if l.chinese {
		words = []string{"夜里", "上午", "下午", "晚上"}
	}
	switch {
	case hour < 5 || hour >= 22:
		return words[0]
	case hour < 12:
		return words[1]
	case hour < 18:
		return words[2]
	default:
		return words[3]
	}
}

// place names a zone by its city.
func (l *language) place(zone string) string {
	for _, c := range cities {
		if c.zone != zone {
			continue
		}
		if l.chinese {
			return c.chinese
		}
		return c.english
	}
	return strings.ReplaceAll(zone[strings.LastIndexByte(zone, '/')+1:], "_", " ")
}

// quote cites the first lines of a text that have something in them.
func quote(text string, lines int) string {
	var out []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && len(out) < lines {
			out = append(out, "> "+clip(line, 200))
		}
	}
	return strings.Join(out, "\n")
}
