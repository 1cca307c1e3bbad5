"""Names that tell a language: extensions, well-known file names, interpreters, editor modes.

Source: the languages' own documentation and common use. Only names that mean one thing are listed;
ambiguous ones (``.h``, ``.sql``, ``.ts``, ``.m``, ``.conf``) are decided by content.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_BY_LANGUAGE: Final[Mapping[str, str]] = {
    # Outlined by the core.
    "python": "py pyi pyw pyx pxd pxi pyt bzl star",
    "javascript": "js mjs cjs jsx es6 gs",
    "typescript": "mts cts",
    "tsx": "tsx",
    "java": "java",
    "c": "c",
    "cpp": "cc cpp cxx c++ hpp hh hxx h++ ipp tpp txx inl cppm ixx ino",
    "go": "go",
    "rust": "rs",
    "bash": "sh bash zsh ksh bats command ebuild",
    "cobol": "cbl cob cobol cpy ccp cpb pco cblle",
    "plsql": "pks pkb pkh plsql pls plb prc fnc trg tps tpb",
    "sql": "ddl dml psql pgsql mysql tsql hql",
    "json": "json jsonc json5 jsonl ndjson geojson topojson webmanifest har map avsc gltf tfstate sarif"
    " code-workspace jsonld mcmeta",
    "yaml": "yaml yml cff",
    "toml": "toml",
    "ini": "ini properties env desktop service socket timer target mount network editorconfig gitconfig"
    " inf reg",
    "xml": "xml xsd xsl xslt svg rss atom wsdl pom csproj vbproj fsproj vcxproj props targets plist xaml resx"
    " nuspec kml gpx xmi dita jrxml qrc iml storyboard xib jelly trx fxml axml",
    "html": "html htm xhtml shtml",
    "markdown": "md markdown mdown mkd mkdn mdx qmd rmd",
    "notebook": "ipynb",
    # Known by name only, unless an extra brings a parser.
    "ada": "adb ads ada",
    "asciidoc": "adoc asciidoc",
    "asm": "asm s nasm",
    "awk": "awk",
    "batch": "bat cmd",
    "clojure": "clj cljs cljc edn",
    "cmake": "cmake",
    "crystal": "cr",
    "csharp": "cs csx",
    "css": "css",
    "csv": "csv tsv",
    "cuda": "cu cuh",
    "d": "d",
    "dart": "dart",
    "diff": "diff patch",
    "dockerfile": "dockerfile containerfile",
    "elixir": "ex exs",
    "elm": "elm",
    "erlang": "erl hrl",
    "fortran": "f for f77 f90 f95 f03 f08",
    "fsharp": "fs fsi fsx",
    "gdscript": "gd",
    "gleam": "gleam",
    "glsl": "glsl vert frag comp",
    "graphql": "graphql gql",
    "groovy": "groovy gradle gvy",
    "haskell": "hs lhs",
    "hcl": "hcl tf tfvars nomad",
    "java-class": "class",
    "jinja": "j2 jinja jinja2",
    "julia": "jl",
    "just": "just",
    "kotlin": "kt kts",
    "latex": "tex sty cls ltx",
    "less": "less",
    "lisp": "lisp lsp cl",
    "emacs-lisp": "el",
    "lua": "lua",
    "make": "mk mak",
    "meson": "meson",
    "nim": "nim nims",
    "nix": "nix",
    "objective-c++": "mm",
    "ocaml": "ml mli",
    "odin": "odin",
    "pascal": "pas pp dpr lpr",
    "perl": "pl pm",
    "php": "php phtml php5",
    "powershell": "ps1 psm1 psd1",
    "prolog": "prolog",
    "proto": "proto",
    "puppet": "epp",
    "r": "r",
    "racket": "rkt",
    "restructuredtext": "rst",
    "rpg": "rpgle sqlrpgle",
    "jcl": "jcl",
    "ruby": "rb rake gemspec ru",
    "sass": "sass",
    "scala": "scala sc sbt",
    "scheme": "scm ss",
    "scss": "scss",
    "solidity": "sol",
    "svelte": "svelte",
    "swift": "swift",
    "systemverilog": "sv svh",
    "tcl": "tcl",
    "thrift": "thrift",
    "typst": "typ",
    "vb": "vb vbs bas",
    "verilog": "v vh",
    "vhdl": "vhd vhdl",
    "vim": "vim",
    "vue": "vue",
    "wat": "wat wast",
    "zig": "zig zon",
}

EXTENSIONS: Final[Mapping[str, str]] = {
    extension: language for language, extensions in _BY_LANGUAGE.items() for extension in extensions.split()
}

# Suffixes of a copy or a template: the language is told by what stands before them.
_TEMPLATES: Final = "in tmpl template tpl example sample dist default erb j2 jinja jinja2"
_COPIES: Final = "orig bak old new backup save"
TEMPLATE_SUFFIXES: Final = frozenset(f"{_TEMPLATES} {_COPIES}".split())

_NAMES_BY_LANGUAGE: Final[Mapping[str, str]] = {
    "bash": ".bashrc .bash_profile .bash_aliases .bash_logout .profile .zshrc .zshenv .zprofile .kshrc"
    " pkgbuild apkbuild .envrc gradlew configure",
    "cmake": "cmakelists.txt",
    "dockerfile": "dockerfile containerfile",
    "gomod": "go.mod go.work",
    "groovy": "jenkinsfile",
    "ini": ".gitconfig .gitmodules .editorconfig .env .npmrc .pylintrc .flake8 .coveragerc .pypirc .hgrc"
    " pip.conf setup.cfg tox.ini my.cnf .wgetrc .bumpversion.cfg",
    "json": ".babelrc .eslintrc .prettierrc .jshintrc .stylelintrc .swcrc composer.lock pipfile.lock"
    " flake.lock package-lock.json deno.lock .arcconfig .watchmanconfig",
    "just": "justfile .justfile",
    "make": "makefile gnumakefile bsdmakefile",
    "meson": "meson.build meson_options.txt",
    "python": "sconstruct sconscript wscript snakefile build.bazel workspace.bazel tiltfile",
    "ruby": "gemfile rakefile vagrantfile podfile brewfile fastfile guardfile capfile .irbrc",
    "toml": "cargo.lock poetry.lock uv.lock pdm.lock pipfile gopkg.lock",
    "vim": ".vimrc .gvimrc",
    "xml": "web.config app.config nuget.config .classpath .project",
    "yaml": ".clang-format .clang-tidy .clangd .yamllint .gemrc .travis.yml pubspec.lock podfile.lock",
}

FILE_NAMES: Final[Mapping[str, str]] = {
    name: language for language, names in _NAMES_BY_LANGUAGE.items() for name in names.split()
}

INTERPRETERS: Final[Mapping[str, str]] = {
    "sh": "bash", "bash": "bash", "dash": "bash", "zsh": "bash", "ksh": "bash", "ash": "bash", "bats": "bash",
    "python": "python", "pypy": "python", "uv": "python", "pytest": "python",
    "node": "javascript", "nodejs": "javascript", "bun": "javascript", "qjs": "javascript",
    "deno": "typescript", "ts-node": "typescript", "tsx": "typescript",
    "rust-script": "rust", "go": "go", "java": "java", "jbang": "java",
    "ruby": "ruby", "perl": "perl", "php": "php", "lua": "lua", "luajit": "lua", "tclsh": "tcl",
    "awk": "awk", "gawk": "awk", "mawk": "awk", "make": "make", "pwsh": "powershell", "julia": "julia",
    "rscript": "r", "groovy": "groovy", "kotlin": "kotlin", "scala": "scala", "elixir": "elixir",
    "escript": "erlang", "runghc": "haskell", "runhaskell": "haskell", "swift": "swift", "crystal": "crystal",
    "guile": "scheme", "racket": "racket", "osascript": "applescript", "fish": "fish", "nu": "nushell",
    "zig": "zig", "dart": "dart", "ocaml": "ocaml", "sbcl": "lisp", "psql": "sql", "sqlite3": "sql",
    "cobc": "cobol", "wish": "tcl",
}  # fmt: skip

# Editor modes whose name is not the language's id.
MODELINE_NAMES: Final[Mapping[str, str]] = {
    "c++": "cpp", "sh": "bash", "shell-script": "bash", "shell": "bash", "zsh": "bash", "js": "javascript",
    "js2": "javascript", "javascriptreact": "tsx", "typescriptreact": "tsx", "ts": "typescript",
    "py": "python", "python3": "python", "dosini": "ini", "conf": "ini", "conf-unix": "ini", "nxml": "xml",
    "sgml": "xml",
    "gfm": "markdown", "md": "markdown", "yml": "yaml", "rs": "rust", "golang": "go", "objc": "objective-c",
    "makefile": "make", "gnumakefile": "make", "cperl": "perl", "rb": "ruby", "cs": "csharp", "c#": "csharp",
    "terraform": "hcl", "f90": "fortran", "elisp": "emacs-lisp", "emacs-lisp": "emacs-lisp", "jsonc": "json",
    "tex": "latex",
}  # fmt: skip

LANGUAGE_IDS: Final = (
    frozenset(_BY_LANGUAGE)
    | frozenset(_NAMES_BY_LANGUAGE)
    | frozenset(INTERPRETERS.values())
    | frozenset(MODELINE_NAMES.values())
    | frozenset({"matlab", "nginx", "mercury"})
)
