//! Why a script cannot go on.

/// Why a script cannot go on. Each names the file, and the line where there is one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// The script could not be loaded: it is not there, or no Lua, or failed at its top level.
    #[error("{message}")]
    Load {
        /// Where and what.
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
        /// As it was given.
        command: String,
    },
    /// An option that the script does not declare.
    #[error("invalid option: --{option}")]
    UnknownOption {
        /// As it was given.
        option: String,
    },
    /// A value that the option cannot have.
    #[error("invalid value '{value}' for the option --{option}: {expected}")]
    WrongValue {
        /// Which.
        option: String,
        /// As it was given.
        value: String,
        /// What would do.
        expected: &'static str,
    },
    /// A hook raised an error.
    #[error("`{hook}' of user {user} failed: {message}")]
    Hook {
        /// The function of the script.
        hook: &'static str,
        /// The virtual user, from zero.
        user: u64,
        /// Where and what.
        message: String,
    },
    /// It did not come back, and somebody has ended it.
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
    /// LuaJIT itself failed.
    #[error("LuaJIT: {message}")]
    Engine {
        /// What it said.
        message: String,
    },
}

impl From<mlua::Error> for ScriptError {
    fn from(error: mlua::Error) -> Self {
        Self::Engine { message: error.to_string() }
    }
}
