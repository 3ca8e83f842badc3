//! mysql_clear_password: the plain password, for PAM and LDAP. Only for a server that proved its
//! identity, within this host, or if explicitly allowed; never over an unencrypted line.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase_authentication_methods_clear_text_password.html>

use super::conversation::{Conversation, Line, with_nul};
use super::plugin::Plugin;
use crate::WireError;

pub(super) fn answer(conversation: &Conversation<'_>) -> Result<Vec<u8>, WireError> {
    match conversation.line {
        Line::Proven | Line::Socket => Ok(with_nul(conversation.password)),
        Line::Unproven if conversation.allow_clear_password => Ok(with_nul(conversation.password)),
        Line::Unproven | Line::Open => Err(conversation.withheld(Plugin::Clear)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::conversation;
    use super::*;

    #[test]
    fn the_password_goes_to_a_server_that_proved_itself_or_where_that_is_allowed_by_name() {
        let goes = |line, allowed| {
            let conversation = Conversation {
                line,
                allow_clear_password: allowed,
                // Has no effect here: it is about keys.
                allow_public_key_retrieval: true,
                ..conversation(b"secret", b"")
            };
            match answer(&conversation) {
                Ok(sent) => sent == b"secret\0",
                Err(WireError::PasswordWithheld { plugin: "mysql_clear_password", .. }) => false,
                Err(other) => panic!("{other}"),
            }
        };
        assert!(goes(Line::Proven, false) && goes(Line::Socket, false));
        assert!(!goes(Line::Unproven, false) && goes(Line::Unproven, true));
        assert!(!goes(Line::Open, false) && !goes(Line::Open, true));
    }
}
