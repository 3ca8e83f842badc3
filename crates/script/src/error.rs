//! Why a script cannot continue.

/// Why a script cannot continue. Each error names the file, and the line if there is one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// The script could not be loaded: it does not exist, is not Lua, or failed at its top level.
    #[error("{message}")]
    Load {
        /// File, line and error.
        message: String,
    },
    /// There is nothing to run.
    #[error("cannot find the event() function in {script}")]
    NoEvent {
        /// The file.
        script: String,
    },
    /// The script has no such command.
    #[error("{script} has no command '{command}'")]
    NoCommand {
        /// The file.
        script: String,
        /// The command as given.
        command: String,
    },
    /// An option that the script does not declare.
    #[error("invalid option: --{option}")]
    UnknownOption {
        /// The option as given.
        option: String,
    },
    /// A value that the option cannot have.
    #[error("invalid value '{value}' for the option --{option}: {expected}")]
    WrongValue {
        /// The option.
        option: String,
        /// The value as given.
        value: String,
        /// A description of valid values.
        expected: &'static str,
    },
    /// A hook raised an error.
    #[error("`{hook}' of user {user} failed: {message}")]
    Hook {
        /// The function of the script.
        hook: &'static str,
        /// The virtual user, from zero.
        user: u64,
        /// File, line and error.
        message: String,
    },
    /// The function did not return control and was interrupted.
    #[error(
        "`{hook}' of user {user} did not come back: it was in {place}, without a statement, when it was broken off"
    )]
    BrokenOff {
        /// The function of the script.
        hook: &'static str,
        /// The virtual user, from zero.
        user: u64,
        /// File and line.
        place: String,
    },
    /// The function waited for a server and was not continued, as its end was asked for.
    #[error("`{hook}' of user {user} did not come back: its end was asked for")]
    Ended {
        /// The function of the script.
        hook: &'static str,
        /// The virtual user, from zero.
        user: u64,
    },
    /// LuaJIT itself failed.
    #[error("LuaJIT: {message}")]
    Engine {
        /// LuaJIT's message.
        message: String,
    },
}

impl From<mlua::Error> for ScriptError {
    fn from(error: mlua::Error) -> Self {
        Self::Engine { message: error.to_string() }
    }
}
