package persona

import (
	"regexp"
	"strings"
)

// The tools that the persona knows how to call.
const (
	toolTime     = "current_time"
	toolFetch    = "fetch_url"
	toolRemember = "remember"
	toolRecall   = "recall"
)

var (
	timePattern = regexp.MustCompile(`(?i)\bwhat('s| is)? (the )?time\b|\bcurrent time\b|\btime is it\b|\btime in\b|几点|什么时间|现在的?时间`)
	urlPattern  = regexp.MustCompile("https?://[^\\s<>\"'`|，。；、！？）》」】]+")
	zonePattern = regexp.MustCompile(`\b(?:Africa|America|Asia|Atlantic|Australia|Europe|Indian|Pacific)/[A-Za-z_]+(?:/[A-Za-z_]+)?\b`)
	// A question comes before an order: "do you remember X" is none.
	recallPattern = regexp.MustCompile(`(?i)\b(?:what|do) (?:do )?you remember(?: about)?\b(.*)|^\W*(?:please )?recall\b(.*)|(?:你还?记得|回忆一?下?)(.*)`)
	notePattern   = regexp.MustCompile(`(?is)^\W*(?:please )?remember(?: that|:)?\s+(.+)|^(?:请|帮我)?记住[:：，,]?\s*(.+)`)
	mention       = regexp.MustCompile(`^\s*@\S+\s+`)
)

// wishes are the calls that a message asks for, in the order in which they are answered.
func wishes(text string) []Call {
	text = mention.ReplaceAllString(text, "")
	if m := recallPattern.FindStringSubmatch(text); m != nil {
		return []Call{{Tool: toolRecall, Args: map[string]any{"query": trim(m[1] + m[2] + m[3])}}}
	}
	if m := notePattern.FindStringSubmatch(text); m != nil {
		return []Call{{Tool: toolRemember, Args: map[string]any{"note": clip(strings.TrimSpace(m[1]+m[2]), 1900)}}}
	}
	var out []Call
	for _, url := range urlPattern.FindAllString(text, 3) {
		out = append(out, Call{Tool: toolFetch, Args: map[string]any{"url": strings.TrimRight(url, ".,;:!?)")}})
	}
	if timePattern.MatchString(text) {
		for _, zone := range zonesIn(text) {
			out = append(out, Call{Tool: toolTime, Args: map[string]any{"timezone": zone}})
		}
	}
	return out
}

// trim takes what surrounds the words of a query off.
func trim(query string) string {
	return strings.Trim(query, " \t\n?!.,:\"'？！。，：吗么什")
}

// zonesIn are the time zones of the cities that a text names, in its order; a question without a city is about where its language is.
func zonesIn(text string) []string {
	const most = 6
	type found struct {
		at   int
		zone string
	}
	var all []found
	add := func(at int, zone string) {
		for i, f := range all {
			if f.zone == zone {
				all[i].at = min(f.at, at)
				return
			}
		}
		all = append(all, found{at, zone})
	}
	for _, m := range zonePattern.FindAllStringIndex(text, most) {
		add(m[0], text[m[0]:m[1]])
	}
	for _, c := range cities {
		if m := c.pattern.FindStringIndex(text); m != nil {
			add(m[0], c.zone)
		}
	}
	switch {
	case len(all) > 0:
	case isChinese(text):
		return []string{"Asia/Shanghai"}
	default:
		return []string{"UTC"}
	}
	zones := make([]string, 0, len(all))
	for len(all) > 0 && len(zones) < most {
		first := 0
		for i := range all {
			if all[i].at < all[first].at {
				first = i
			}
		}
		zones = append(zones, all[first].zone)
		all = append(all[:first], all[first+1:]...)
	}
	return zones
}

// city is a place that people ask the time of.
type city struct {
	english, chinese, zone string
	pattern                *regexp.Regexp
}

// cities are the big ones. Where two share a zone the first gives it its name.
var cities = compile([]city{
	{english: "Tokyo", chinese: "东京", zone: "Asia/Tokyo"},
	{english: "Shanghai", chinese: "上海", zone: "Asia/Shanghai"},
	{english: "Beijing", chinese: "北京", zone: "Asia/Shanghai"},
	{english: "Shenzhen", chinese: "深圳", zone: "Asia/Shanghai"},
	{english: "Hong Kong", chinese: "香港", zone: "Asia/Hong_Kong"},
	{english: "Taipei", chinese: "台北", zone: "Asia/Taipei"},
	{english: "Singapore", chinese: "新加坡", zone: "Asia/Singapore"},
	{english: "Seoul", chinese: "首尔", zone: "Asia/Seoul"},
	{english: "Bangkok", chinese: "曼谷", zone: "Asia/Bangkok"},
	{english: "Jakarta", chinese: "雅加达", zone: "Asia/Jakarta"},
	{english: "Mumbai", chinese: "孟买", zone: "Asia/Kolkata"},
	{english: "Delhi", chinese: "德里", zone: "Asia/Kolkata"},
	{english: "Dubai", chinese: "迪拜", zone: "Asia/Dubai"},
	{english: "Istanbul", chinese: "伊斯坦布尔", zone: "Europe/Istanbul"},
	{english: "Moscow", chinese: "莫斯科", zone: "Europe/Moscow"},
	{english: "London", chinese: "伦敦", zone: "Europe/London"},
	{english: "Paris", chinese: "巴黎", zone: "Europe/Paris"},
	{english: "Berlin", chinese: "柏林", zone: "Europe/Berlin"},
	{english: "Madrid", chinese: "马德里", zone: "Europe/Madrid"},
	{english: "Rome", chinese: "罗马", zone: "Europe/Rome"},
	{english: "Zurich", chinese: "苏黎世", zone: "Europe/Zurich"},
	{english: "Amsterdam", chinese: "阿姆斯特丹", zone: "Europe/Amsterdam"},
	{english: "Cairo", chinese: "开罗", zone: "Africa/Cairo"},
	{english: "Nairobi", chinese: "内罗毕", zone: "Africa/Nairobi"},
	{english: "Lagos", chinese: "拉各斯", zone: "Africa/Lagos"},
	{english: "Johannesburg", chinese: "约翰内斯堡", zone: "Africa/Johannesburg"},
	{english: "New York", chinese: "纽约", zone: "America/New_York"},
	{english: "Toronto", chinese: "多伦多", zone: "America/Toronto"},
	{english: "Chicago", chinese: "芝加哥", zone: "America/Chicago"},
	{english: "Denver", chinese: "丹佛", zone: "America/Denver"},
	{english: "San Francisco", chinese: "旧金山", zone: "America/Los_Angeles"},
	{english: "Los Angeles", chinese: "洛杉矶", zone: "America/Los_Angeles"},
	{english: "Seattle", chinese: "西雅图", zone: "America/Los_Angeles"},
	{english: "Mexico City", chinese: "墨西哥城", zone: "America/Mexico_City"},
	{english: "São Paulo", chinese: "圣保罗", zone: "America/Sao_Paulo"},
	{english: "Buenos Aires", chinese: "布宜诺斯艾利斯", zone: "America/Argentina/Buenos_Aires"},
	{english: "Honolulu", chinese: "檀香山", zone: "Pacific/Honolulu"},
	{english: "Sydney", chinese: "悉尼", zone: "Australia/Sydney"},
	{english: "Melbourne", chinese: "墨尔本", zone: "Australia/Melbourne"},
	{english: "Auckland", chinese: "奥克兰", zone: "Pacific/Auckland"},
})

func compile(all []city) []city {
	for i, c := range all {
		all[i].pattern = regexp.MustCompile(`(?i)\b` + strings.ReplaceAll(regexp.QuoteMeta(c.english), "ã", "[ãa]") + `\b|` + c.chinese)
	}
	return all
}
