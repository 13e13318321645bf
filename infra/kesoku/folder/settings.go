package folder

import (
	"fmt"
	"reflect"
	"strings"

	"kesoku.dev/shared/config"
)

// settings walks a struct of settings by its yaml names; a struct inside it is a section.
func settings(prefix string, v any, lines map[string]int) []Setting {
	var all []Setting
	rv := reflect.ValueOf(v)
	for i := range rv.NumField() {
		name, _, _ := strings.Cut(rv.Type().Field(i).Tag.Get("yaml"), ",")
		if name == "" || name == "-" {
			continue
		}
		if rv.Field(i).Kind() == reflect.Struct {
			all = append(all, settings(prefix+name+".", rv.Field(i).Interface(), lines)...)
			continue
		}
		all = append(all, Setting{Name: prefix + name, Value: rv.Field(i).Interface(), From: origin(prefix+name, lines)})
	}
	return all
}

func origin(name string, lines map[string]int) string {
	if line, ok := lines["chat."+name]; ok {
		return fmt.Sprintf("%s:%d", config.FileKesoku, line)
	}
	return "default"
}
