# Completion of gsan-launch, gsan-report, gsan-ptxas and gsan-nvcc for bash. What there is to offer is read from their --help, which is
# printed from the tables that they parse by; that of gsan-nvcc is nvcc's.

# _gsan_value HELP OPTION: what the option's value is called, `auto|cuda|emu` or DIR; nothing if it has none.
_gsan_value() {
	awk -v option="  $2 " 'index($0, option) == 1 { value = substr($0, length(option) + 1); if (value !~ /^ /) print value }' <<<"$1" |
		sed 's/ .*//'
}

# _gsan_program HELP: the place in COMP_WORDS of the first word that is neither an option nor its value, or where the cursor is.
_gsan_program() {
	local at
	for ((at = 1; at < COMP_CWORD; at++)); do
		case ${COMP_WORDS[at]} in
		--) ((at++)); break ;;
		-*) if [ "${COMP_WORDS[at + 1]-}" = = ]; then ((at += 2)); elif [ -n "$(_gsan_value "$1" "${COMP_WORDS[at]}")" ]; then ((at++)); fi ;;
		*) break ;;
		esac
	done
	echo $((at < COMP_CWORD ? at : COMP_CWORD))
}

_gsan_commands() {
	mapfile -t COMPREPLY < <(compgen -c -- "$1")
	compopt -o default 2>/dev/null
}

_gsan() {
	local help word=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]} value program
	help=$("$1" --help 2>/dev/null)
	COMPREPLY=()
	if [ "$word" = = ]; then # --device=
		word=
	elif [ "$option" = = ]; then
		option=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	if [ "${1##*/}" = gsan-launch ]; then
		program=$(_gsan_program "$help")
		if ((program < COMP_CWORD)); then # from there on it is somebody else's command line
			if declare -F _comp_command_offset >/dev/null; then
				_comp_command_offset "$program"
			elif declare -F _command_offset >/dev/null; then
				_command_offset "$program"
			else
				compopt -o default 2>/dev/null
			fi
			return
		elif [ "$option" = -- ]; then # no option of ours any more, whatever it begins with
			_gsan_commands "$word"
			return
		fi
	fi
	value=$(_gsan_value "$help" "$option")
	case $value in
	*'|'*) mapfile -t COMPREPLY < <(compgen -W "${value//|/ }" -- "$word") ;;
	DIR) compopt -o dirnames 2>/dev/null ;;
	FILE | PATH) compopt -o default 2>/dev/null ;;
	?*) ;; # a number, a pattern
	*)
		if [[ $word == -* ]]; then
			mapfile -t COMPREPLY < <(compgen -W "$(grep -oE '^  -[^ ]+' <<<"$help")" -- "$word")
		elif [ "${1##*/}" = gsan-launch ]; then
			_gsan_commands "$word"
		else
			compopt -o default 2>/dev/null
		fi
		;;
	esac
}

# _gsan_allowed HELP OPTION: of `--gpu-architecture <arch>  (-arch)`, by either name, the words behind `Allowed values for this option:`,
# or of `--relocatable-device-code {true|false}  (-rdc)` those in braces.
_gsan_allowed() {
	awk -v option="$2" '/^-/ { mine = $1 == option || $NF == "(" option ")"; values = 0 } /^$/ { values = 0 } /Allowed values/ { values = mine }
		/^-/ && mine && match($0, /{[^}]*}/) { words = substr($0, RSTART + 1, RLENGTH - 2); gsub("[|]", "\n", words); print words }
		values { while (match($0, /\047[^\047]*\047/)) { print substr($0, RSTART + 1, RLENGTH - 2); $0 = substr($0, RSTART + RLENGTH) } }' <<<"$1" |
		sort -u
}

_gsan_nvcc() {
	local help word=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]} values
	help=$("$1" --help 2>/dev/null)
	COMPREPLY=()
	if [ "$word" = = ]; then
		word=
	elif [ "$option" = = ]; then
		option=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	values=$(_gsan_allowed "$help" "$option")
	if [ -n "$values" ]; then
		mapfile -t COMPREPLY < <(compgen -W "$values" -- "$word")
	elif [[ $word == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(awk '/^--/ { print $1; if ($NF ~ /^\(-.*\)$/) print substr($NF, 2, length($NF) - 2) }' <<<"$help")" -- "$word")
	else
		compopt -o default 2>/dev/null
	fi
}

complete -F _gsan gsan-launch gsan-report gsan-ptxas
complete -F _gsan_nvcc gsan-nvcc
