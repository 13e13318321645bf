package terraform_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	ctyfunction "github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// grant is a role that somebody gets: kesoku-turn, roles/pubsub.publisher, topic deliveries.
type grant struct{ identity, role, on string }

func (g grant) String() string { return g.identity + " | " + g.role + " | " + g.on }

// settings are the deployments whose grants are looked at: with Vertex AI, and with a key of the Gemini API.
var settings = []map[string]cty.Value{{"gemini_api_key_version": cty.NumberIntVal(0)}, {"gemini_api_key_version": cty.NumberIntVal(1)}}

// operators are the variables without defaults, by values that tell what they are.
var operators = map[string]cty.Value{
	"project_id": cty.StringVal("PROJECT"), "project_number": cty.StringVal("NUMBER"), "region": cty.StringVal("REGION"),
}

// allGrants are all that Terraform grants in any of the settings.
func (t *tree) allGrants() map[grant]bool {
	out := map[grant]bool{}
	for _, values := range settings {
		given := maps.Clone(operators)
		maps.Copy(given, values)
		s := &scope{tree: t, module: root, given: given, calls: map[string]*scope{}, known: map[string]cty.Value{}}
		s.collect(out)
		for _, call := range t.all(root, "module") {
			s.inside(call).collect(out)
		}
	}
	return out
}

// scope is a module's folder with what it is given: values, or a call whose arguments are evaluated in the scope outside.
type scope struct {
	*tree
	module  string
	given   map[string]cty.Value
	call    block
	outside *scope
	calls   map[string]*scope    // scopes of the calls in this one, by the call's name
	known   map[string]cty.Value // what names were found to stand for
}

func (s *scope) inside(call block) *scope {
	if s.calls[call.name()] == nil {
		s.calls[call.name()] = &scope{tree: s.tree, module: function, call: call, outside: s, known: map[string]cty.Value{}}
	}
	return s.calls[call.name()]
}

func (s *scope) collect(out map[grant]bool) {
	for _, b := range s.all(s.module, "resource") {
		if !strings.HasSuffix(b.kind(), "_iam_member") {
			continue
		}
		for _, each := range s.instances(b) {
			who := strings.TrimPrefix(s.textOf(b.attr("member"), each), "serviceAccount:")
			out[grant{who, s.textOf(b.attr("role"), each), s.on(b, each)}] = true
		}
	}
}

// narrowed is the one resource that a condition leaves of the whole project.
var narrowed = regexp.MustCompile(`^(?:resource\.type == "[^"]+" && )?resource\.name(?: == |\.startsWith\()"projects/[^/]+/(database|bucket)s/([^"]+)"\)?$`)

// targets are the attributes that name what a grant is on.
var targets = map[string]struct{ attr, what string }{
	"google_pubsub_topic_iam_member":          {"topic", "topic"},
	"google_pubsub_subscription_iam_member":   {"subscription", "subscription"},
	"google_cloud_run_v2_service_iam_member":  {"name", "service"},
	"google_storage_bucket_iam_member":        {"bucket", "bucket"},
	"google_secret_manager_secret_iam_member": {"secret_id", "secret"},
}

// on is what a grant is on.
func (s *scope) on(b block, each cty.Value) string {
	if target, ok := targets[b.kind()]; ok {
		return target.what + " " + s.textOf(b.attr(target.attr), each)
	}
	if b.kind() != "google_project_iam_member" {
		s.problem("%s is on a kind of resource that nobody knows here", b)
	}
	if len(b.children("condition")) == 0 {
		return "project"
	}
	condition := s.textOf(b.in("condition", "expression"), each)
	found := narrowed.FindStringSubmatch(condition)
	if found == nil {
		s.problem("%s: what does %s leave?", b, condition)
		return "project"
	}
	return found[1] + " " + found[2]
}

// instances are the values of each, one for every instance of a resource.
func (s *scope) instances(b block) []cty.Value {
	none := cty.EmptyObjectVal
	switch forEach, count := b.attr("for_each"), b.attr("count"); {
	case forEach != nil:
		set := s.eval(forEach, none)
		if !set.CanIterateElements() {
			return nil
		}
		var out []cty.Value
		for key, value := range set.Elements() {
			if set.Type().IsSetType() {
				key = value
			}
			out = append(out, cty.ObjectVal(map[string]cty.Value{"key": key, "value": value}))
		}
		return out
	case count != nil:
		if n := s.eval(count, none); n.Type() != cty.Number || !n.IsKnown() || n.AsBigFloat().Sign() == 0 {
			return nil
		}
	}
	return []cty.Value{none}
}

// eval is an expression's value. What cannot be known here, such as an address that the platform makes up, is unknown.
func (s *scope) eval(e hclsyntax.Expression, each cty.Value) cty.Value {
	if e == nil {
		return cty.DynamicVal
	}
	values := map[string]map[string]cty.Value{}
	for _, v := range e.Variables() {
		if attr, ok := v[min(1, len(v)-1)].(hcl.TraverseAttr); ok {
			if values[v.RootName()] == nil {
				values[v.RootName()] = map[string]cty.Value{}
			}
			name := v.RootName() + "." + attr.Name
			if _, ok := s.known[name]; !ok {
				s.known[name] = s.lookUp(v.RootName(), attr.Name)
			}
			values[v.RootName()][attr.Name] = s.known[name]
		}
	}
	ctx := &hcl.EvalContext{Variables: map[string]cty.Value{}, Functions: functions}
	for name, members := range values {
		ctx.Variables[name] = cty.ObjectVal(members)
	}
	ctx.Variables["each"] = each
	v, diags := e.Value(ctx)
	if diags.HasErrors() {
		s.problem("cannot tell what is granted: %v", diags)
		return cty.DynamicVal
	}
	return v
}

func (s *scope) textOf(e hclsyntax.Expression, each cty.Value) string {
	v := s.eval(e, each)
	if v.Type() != cty.String || !v.IsKnown() || v.IsNull() {
		return "?"
	}
	return v.AsString()
}

// lookUp is what a name of two parts stands for: var.region, local.topics, google_pubsub_topic.wake.
func (s *scope) lookUp(kind, name string) cty.Value {
	none := cty.EmptyObjectVal
	switch kind {
	case "each":
		return cty.DynamicVal // set by eval
	case "var":
		return s.variable(name)
	case "local":
		for _, b := range s.all(s.module, "locals") {
			if e := b.attr(name); e != nil {
				return s.eval(e, none)
			}
		}
	case "module":
		if call, ok := s.find(s.module, "module", name); ok {
			outputs := map[string]cty.Value{}
			for _, o := range s.all(function, "output") {
				outputs[o.name()] = s.inside(call).eval(o.attr("value"), none)
			}
			return cty.ObjectVal(outputs)
		}
	default:
		if b, ok := s.find(s.module, "resource", kind, name); ok {
			return s.resource(b)
		}
	}
	return cty.DynamicVal
}

func (s *scope) variable(name string) cty.Value {
	if v, ok := s.given[name]; ok {
		return v
	}
	if s.outside != nil && s.call.attr(name) != nil {
		return s.outside.eval(s.call.attr(name), cty.EmptyObjectVal)
	}
	if v, ok := s.find(s.module, "variable", name); ok {
		return s.eval(v.attr("default"), cty.EmptyObjectVal)
	}
	return cty.DynamicVal
}

// resource is what others refer to of a resource: how it is called. An identity is called by its account's id alone.
func (s *scope) resource(b block) cty.Value {
	var instances []cty.Value
	byKey := map[string]cty.Value{}
	for _, each := range s.instances(b) {
		values := map[string]cty.Value{"service_config": cty.DynamicVal, "url": cty.DynamicVal}
		for _, attr := range []string{"name", "secret_id", "account_id", "role"} {
			if e := b.attr(attr); e != nil {
				name := cty.StringVal(s.textOf(e, each))
				values[attr], values["name"], values["id"], values["email"], values["member"] = name, name, name, name, name
			}
		}
		instances = append(instances, cty.ObjectVal(values))
		if each.Type().HasAttribute("key") {
			byKey[each.GetAttr("key").AsString()] = cty.ObjectVal(values)
		}
	}
	switch {
	case b.attr("for_each") != nil:
		return cty.ObjectVal(byKey)
	case b.attr("count") != nil:
		return cty.TupleVal(instances)
	}
	return instances[0]
}

// functions are those of Terraform's that stand in grants.
var functions = map[string]ctyfunction.Function{
	"toset": ctyfunction.New(&ctyfunction.Spec{
		Params: []ctyfunction.Parameter{{Name: "list", Type: cty.DynamicPseudoType}},
		Type:   func([]cty.Value) (cty.Type, error) { return cty.Set(cty.String), nil },
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			return convert.Convert(args[0], cty.Set(cty.String))
		},
	}),
	"tostring": stdlib.MakeToFunc(cty.String),
	"coalesce": stdlib.CoalesceFunc,
	"values":   stdlib.ValuesFunc,
	"merge":    stdlib.MergeFunc,
	"concat":   stdlib.ConcatFunc,
}

const (
	securityFile = "docs/security.md"
	grantsTitle  = "## Who may do what"
)

// security: the table that an operator and an auditor read says exactly what is granted.
func (t *tree) security() {
	said := t.said()
	granted := t.allGrants()
	for _, g := range slices.SortedFunc(maps.Keys(granted), byText) {
		if !said[g] {
			t.problem("%s does not say: %s", securityFile, g)
		}
	}
	for _, g := range slices.SortedFunc(maps.Keys(said), byText) {
		if !granted[g] {
			t.problem("%s says what nothing grants: %s", securityFile, g)
		}
	}
}

func byText(a, b grant) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) }

// said are the rows of the page's table: identity, role, what on, why. A cell may list several, between commas, and a row then says all
// pairs.
func (t *tree) said() map[grant]bool {
	out := map[grant]bool{}
	_, section, _ := strings.Cut(t.files[securityFile], "\n"+grantsTitle+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, line := range strings.Split(section, "\n") {
		cells := strings.Split(strings.Trim(line, "| "), "|")
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "| Identity ") || strings.Trim(line, "|-: ") == "" {
			continue
		}
		if len(cells) != 4 || strings.TrimSpace(cells[3]) == "" {
			t.problem("%s: a row has four cells, the last of them why: %s", securityFile, line)
			continue
		}
		for _, identity := range listed(cells[0]) {
			for _, on := range listed(cells[2]) {
				out[grant{identity, strings.Join(listed(cells[1]), ", "), on}] = true
			}
		}
	}
	return out
}

// listed are the texts of a cell without their marks.
func listed(cell string) []string {
	parts := strings.Split(strings.ReplaceAll(cell, "`", ""), ",")
	for i, p := range parts {
		parts[i] = strings.TrimSpace(p)
	}
	return parts
}
