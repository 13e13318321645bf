package googlechat

import (
	"fmt"

	"kesoku.dev/emulators/googlechat/world"
)

func defaultPeople() []world.Person {
	return []world.Person{
		{Name: "users/100000000000000000001", DisplayName: "Alice", Email: "alice@example.com", Locale: "en"},
		{Name: "users/100000000000000000002", DisplayName: "小波 Bo", Email: "bo@example.com", Locale: "zh"},
		{Name: "users/100000000000000000003", DisplayName: "Carol", Email: "carol@example.com", Locale: "en"},
		{Name: "users/100000000000000000009", DisplayName: "Builder", Bot: true},
	}
}

func defaultPlaces() []world.Place {
	people := defaultPeople()
	everybody := []string{people[0].Name, people[1].Name, people[2].Name, people[3].Name}
	places := []world.Place{
		{Name: "spaces/AAQAkesoku01", DisplayName: "Kesoku demo", Members: everybody},
		{Name: "spaces/AAQAtokyo002", DisplayName: "东京出差", Members: everybody},
	}
	for i, p := range people[:3] {
		places = append(places, world.Place{Name: fmt.Sprintf("spaces/dmKesoku00%d", i+1), Direct: true, Members: []string{p.Name}})
	}
	return places
}
