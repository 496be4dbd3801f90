package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

var testName = regexp.MustCompile(`^([a-z0-9_/]+)\.(Test[A-Za-z0-9_]+)(?:/(.+))?$`)

// isTest finds a test as shown.yaml names it: the function, and of a case its name as a text in the tests of the
// package, or the file in testdata that it is read from.
func isTest(name string) error {
	parts := testName.FindStringSubmatch(name)
	if parts == nil {
		return fmt.Errorf("%q is no test: wanted package/path.TestName or package/path.TestName/case", name)
	}
	paths, err := filepath.Glob(filepath.Join("..", parts[1], "*_test.go"))
	if err != nil {
		return err
	}
	var source strings.Builder
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		source.Write(text)
	}
	if !strings.Contains(source.String(), "\nfunc "+parts[2]+"(") {
		return fmt.Errorf("package %s has no %s", parts[1], parts[2])
	}
	if parts[3] == "" || strings.Contains(source.String(), fmt.Sprintf("%q", parts[3])) {
		return nil
	}
	for _, pattern := range []string{"testdata/*", "testdata/*/*"} {
		files, err := filepath.Glob(filepath.Join("..", parts[1], pattern))
		if err != nil {
			return err
		}
		for _, file := range files {
			if strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)) == parts[3] {
				return nil
			}
		}
	}
	return fmt.Errorf("package %s has neither a text nor a file %q for %s", parts[1], parts[3], parts[2])
}
