package locale

import "fmt"

// phrases are the words of one language, with the verbs of package fmt where something is filled in. Verbs carry their argument's
// index, so that languages may order them as they like.
type phrases struct {
	tag string

	crash         string // %[1]s the reason
	reasons       map[Reason]string
	blocked       string
	notPassedOn   string
	empty         string
	replyCut      string
	compacted     string
	stopped       string
	stoppedBy     string // %[1]s a person's name
	unknownModel  string // %[1]s the model's name
	withheld      string
	censored      string
	welcomeRoom   string
	welcomeDirect string

	thinking, working, done, failed, cardStopped string

	fold         count
	earlierSteps count
	thought      string
	interrupted  string
	toolFailed   string
	stop         string
	toolCalls    count

	seconds string // %[1]f
	minutes string // %[1]d minutes, %[2]d seconds
	tokens  string // %[1]s
	context string // %[1]s
	turn    string // %[1]d
}

// count is a phrase about a number of things, %[1]d. Chinese and English have no more than these two forms.
type count struct{ one, other string }

func (c count) of(n int) string {
	if n == 1 {
		return fmt.Sprintf(c.one, n)
	}
	return fmt.Sprintf(c.other, n)
}

var zh = phrases{ //nolint:gosec // G101 takes names like "tokens" and "credentials" for secrets; these are texts
	tag: "zh",

	crash: "⚠️ 处理您的请求时发生异常: %[1]s",
	reasons: map[Reason]string{ //nolint:gosec // G101 takes the name ReasonCredentials for a secret; this is a text
		ReasonInternal:    "内部错误，请稍后再试。",
		ReasonRateLimited: "模型服务的调用额度暂时用尽，请稍后再试。",
		ReasonOverloaded:  "模型服务暂时过载，请稍后再试。",
		ReasonContext:     "对话内容超出了模型的上下文长度。请换个更短的问题再试，或联系管理员。",
		ReasonCredentials: "模型服务拒绝了访问凭据，请联系管理员。",
		ReasonRequest:     "模型服务拒绝了这次请求。",
		ReasonUnsupported: "当前模型不支持这次请求所需的功能。",
		ReasonMalformed:   "模型多次返回无法识别的内容，请换个说法再试。",
		ReasonRecoveries:  "多次重试后仍未能完成，已停止处理。",
		ReasonSteps:       "步骤太多仍未得出结果，已停止处理。请把问题拆小一些再试。",
	},
	notPassedOn:   "⚠️ 消息没有交给智能体：其中有本频道不允许的内容（CENSOR_BLOCKED）。",
	blocked:       "抱歉，模型服务出于内容安全的考虑没有回答这个问题。换个说法也许可以。",
	empty:         "抱歉，这次没有得到有效的回复。请再试一次，或换个说法。",
	replyCut:      "（回复太长，以下内容已被截去。）",
	compacted:     "🔄 聊天历史已自动压缩。",
	stopped:       "⏹️ 已停止。",
	stoppedBy:     "⏹️ 已由 %[1]s 停止。",
	unknownModel:  "⚠️ 找不到模型“%[1]s”，消息没有得到处理。请联系管理员检查模型设置。",
	withheld:      "⚠️ 这条回复没有通过内容审核，因此没有发出（CENSOR_BLOCKED）。",
	censored:      "（未通过内容审核）",
	welcomeRoom:   "大家好，我是 Kesoku。在消息里 @Kesoku 就可以向我提问。",
	welcomeDirect: "你好，我是 Kesoku。直接发消息给我就可以提问。",

	thinking: "思考中…", working: "处理中…", done: "已完成", failed: "出错了", cardStopped: "已停止",

	fold:         count{"思考与工具 · %[1]d 步", "思考与工具 · %[1]d 步"},
	earlierSteps: count{"… 之前还有 %[1]d 步", "… 之前还有 %[1]d 步"},
	thought:      "思考",
	interrupted:  "已中断",
	toolFailed:   "执行失败",
	stop:         "停止",
	toolCalls:    count{"%[1]d 次工具调用", "%[1]d 次工具调用"},

	seconds: "%.1[1]f 秒",
	minutes: "%[1]d 分 %[2]d 秒",
	tokens:  "%[1]s tokens",
	context: "上下文 %[1]s",
	turn:    "第 %[1]d 轮",
}

var en = phrases{ //nolint:gosec // G101 takes names like "tokens" and "credentials" for secrets; these are texts
	tag: "en",

	crash: "⚠️ Something went wrong while handling your request: %[1]s",
	reasons: map[Reason]string{
		ReasonInternal:    "an internal error. Please try again later.",
		ReasonRateLimited: "the model's quota is used up for the moment. Please try again later.",
		ReasonOverloaded:  "the model is overloaded at the moment. Please try again later.",
		ReasonContext:     "the conversation is too long for the model. Please try a shorter question, or ask your administrator.",
		ReasonCredentials: "the model refused our credentials. Please tell your administrator.",
		ReasonRequest:     "the model refused the request.",
		ReasonUnsupported: "this model cannot do what the request needs.",
		ReasonMalformed:   "the model kept answering in a form that cannot be read. Please try other words.",
		ReasonRecoveries:  "it could not be finished after several attempts and was given up.",
		ReasonSteps:       "it took too many steps without an answer and was given up. Please ask for less at once.",
	},
	notPassedOn:   "⚠️ The message was not passed on: it has something that this channel does not allow (CENSOR_BLOCKED).",
	blocked:       "Sorry, the model declined to answer this for reasons of content safety. Other words may help.",
	empty:         "Sorry, no usable answer came back this time. Please try again, or try other words.",
	replyCut:      "(The reply was too long: the rest of it was cut off.)",
	compacted:     "🔄 The chat history was compacted automatically.",
	stopped:       "⏹️ Stopped.",
	stoppedBy:     "⏹️ Stopped by %[1]s.",
	unknownModel:  "⚠️ There is no model “%[1]s”, so the message was not handled. Please ask your administrator to check the model setting.",
	withheld:      "⚠️ This reply did not pass the content check and was not sent (CENSOR_BLOCKED).",
	censored:      "(did not pass the content check)",
	welcomeRoom:   "Hello, I am Kesoku. Mention @Kesoku in a message to ask me something.",
	welcomeDirect: "Hello, I am Kesoku. Just write to me to ask me something.",

	thinking: "Thinking…", working: "Working…", done: "Done", failed: "Failed", cardStopped: "Stopped",

	fold:         count{"Thinking and tools · %[1]d step", "Thinking and tools · %[1]d steps"},
	earlierSteps: count{"… %[1]d earlier step", "… %[1]d earlier steps"},
	thought:      "Thought",
	interrupted:  "interrupted",
	toolFailed:   "failed",
	stop:         "Stop",
	toolCalls:    count{"%[1]d tool call", "%[1]d tool calls"},

	seconds: "%.1[1]f s",
	minutes: "%[1]d min %[2]d s",
	tokens:  "%[1]s tokens",
	context: "context %[1]s",
	turn:    "turn %[1]d",
}
