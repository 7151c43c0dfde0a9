// Renders the chart as `helm template` does, for tests on machines without Helm: Go's text/template
// with the functions of Sprig, and of Helm's own those that the chart uses. Standard input has the
// JSON {"Values", "Release", "Chart"}; arguments: the folder of the chart and the templates to print.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/ioutil"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"gopkg.in/yaml.v3"
)

type files struct{ folder string }

// Get returns a file of the chart, or nothing if it does not exist, as Helm does.
func (f files) Get(name string) string {
	text, err := ioutil.ReadFile(filepath.Join(f.folder, name))
	if err != nil {
		return ""
	}
	return string(text)
}

func toYaml(value interface{}) (string, error) {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	err := encoder.Encode(value)
	return strings.TrimSuffix(out.String(), "\n"), err
}

func fromYaml(text string) (map[string]interface{}, error) {
	values := map[string]interface{}{}
	err := yaml.Unmarshal([]byte(text), &values)
	return values, err
}

func run() error {
	var input map[string]interface{}
	if err := json.NewDecoder(os.Stdin).Decode(&input); err != nil {
		return err
	}
	folder := os.Args[1]
	input["Files"] = files{folder}
	all := template.New("chart").Option("missingkey=zero")
	functions := sprig.TxtFuncMap()
	functions["toYaml"] = toYaml
	functions["fromYaml"] = fromYaml
	functions["include"] = func(name string, data interface{}) (string, error) {
		var out strings.Builder
		err := all.ExecuteTemplate(&out, name, data)
		return out.String(), err
	}
	functions["fail"] = func(message string) (string, error) { return "", fmt.Errorf("%s", message) }
	all.Funcs(functions)
	paths, err := filepath.Glob(filepath.Join(folder, "templates", "*"))
	if err != nil {
		return err
	}
	for _, path := range paths {
		text, err := ioutil.ReadFile(path)
		if err != nil {
			return err
		}
		if _, err := all.New(filepath.Base(path)).Parse(string(text)); err != nil {
			return err
		}
	}
	for _, name := range os.Args[2:] {
		var out strings.Builder
		if err := all.ExecuteTemplate(&out, name, input); err != nil {
			return err
		}
		fmt.Printf("%s\n", strings.TrimSpace(out.String()))
		if strings.HasSuffix(name, ".yaml") {
			fmt.Printf("---\n")
		}
	}
	return nil
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
