package tidy

import "fmt"

// Rule is one thing that the tree promises.
type Rule struct {
	Name  string
	Why   string // the reason, and where it is not obvious the way out
	Check func(Tree) []Finding
}

// Rules is the one list of them.
func Rules() []Rule {
	return []Rule{
		{
			"floors",
			"imports point down only, so that the core can be tested without a world (design: Floors)",
			checkFloors,
		},
		{
			"core",
			"the core is a total function of its arguments: no clock, no goroutine, no chance, no prose",
			checkCore,
		},
		{"calls", "each of these has a better replacement, named in the finding", checkCalls},
		{"magic", "what happens at start is written in main and in one list, never behind an import", checkMagic},
		{"goroutines", "every goroutine has an owner that waits for its end", checkGoroutines},
		{"survival", "a panic that no goroutine's guard ends is the end of all fleets of all providers", checkSurvival},
		{
			"error text",
			"errors are told apart by fault.KindOf or errors.Is; their text is for people and changes",
			checkErrorText,
		},
		{
			"package comments",
			"each says what the package is, what it promises and what it does not",
			checkPackageComments,
		},
		{"package names", "a name says what is inside", checkPackageNames},
		{"function length", "a long function hides its steps; give each step a name without 'and'", checkLength},
		{"package size", "a package has one subject, and its name says which", checkPackageSize},
		{"file length", "a file has one subject", checkFileLength},
		{"methods", "a type with a hundred methods is a package without walls", checkMethods},
		{
			"namings",
			"a step of the ladder is a row with behaviour: the next one costs as many files as know one by name",
			checkNamings,
		},
		{
			"boolean parameters",
			"f(true) says nothing at the call: use a defined type, an options struct or two functions",
			checkBooleans,
		},
		{"wrappers", "an ability that a wrapper hides is not missed until it is needed", checkWrappers},
		{"format", "gofmt ends the discussion", checkFormat},
		{"paths in documents", "a document that names what does not exist misleads", checkPaths},
		{"names in documents", "a document that names a function that is gone misleads", checkNames},
		{"map", "who comes new looks for a package's place there", checkMap},
		{"scenarios", "a scenario is done when a test carries its number", checkScenarios},
		{"words", "the tree speaks of the product, not of how or where it was made", checkWords},
		{"scripts", "a script that goes on after an error does harm", checkScripts},
	}
}

func place(path string, line int) string { return fmt.Sprintf("%s:%d", path, line) }
