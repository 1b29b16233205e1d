// Package docs holds the glossary, so that pages made by opl explain their words without the manual
// beside them. Use it where a word of the glossary is linked or explained.
package docs

import _ "embed"

// Glossary is docs/glossary.md: tables of words with their meanings.
//
//go:embed glossary.md
var Glossary string
