//! mysql_clear_password: the password as it is, for PAM and LDAP. Only where nobody can read along.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase_authentication_methods_clear_text_password.html>

use super::{Conversation, with_nul};
use crate::WireError;

pub(super) fn answer(conversation: &Conversation<'_>) -> Result<Vec<u8>, WireError> {
    if conversation.secure {
        Ok(with_nul(conversation.password))
    } else {
        Err(WireError::ClearPasswordRefused)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::conversation;
    use super::*;

    #[test]
    fn the_password_goes_in_clear_only_where_nobody_reads_along() {
        let mut conversation = conversation(b"secret", b"");
        assert_eq!(answer(&conversation), Err(WireError::ClearPasswordRefused));
        conversation.secure = true;
        assert_eq!(answer(&conversation), Ok(b"secret\0".to_vec()));
    }
}
