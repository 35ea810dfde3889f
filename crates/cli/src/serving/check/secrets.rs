//! What a configuration says of secrets: whether they are there, what they are for, and who may
//! read them.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use ostrakon_node::config::{
    ADMIN_TOKEN_VARIABLE, CREATION_TOKEN_VARIABLE, Config, IDENTITY_VARIABLE,
    MAIL_PASSWORD_VARIABLE, Role, STORE_URL_VARIABLE,
};
use ostrakon_store::Database;

use super::Findings;

/// Checks every secret that this process reads at its start. An intake process has no key, knows no
/// token and sends no e-mail.
pub fn check(config: &Config, findings: &mut Findings) {
    store(config, findings);
    if let Some(acme) = &config.https.acme {
        private(&acme.cache, findings);
    }
    if config.process.role == Role::Intake {
        return;
    }
    if is_unset(IDENTITY_VARIABLE) {
        private(&config.identity_file, findings);
    }
    if let Err(error) = config.identity() {
        findings.error(error.to_string());
    }
    if is_unset(ADMIN_TOKEN_VARIABLE) {
        private(&config.admin_token_file, findings);
    }
    if let Err(error) = config.admin_tokens() {
        findings.error(error.to_string());
    }
    if let Some(file) = &config.rooms.creation_token_file
        && is_unset(CREATION_TOKEN_VARIABLE)
    {
        private(file, findings);
    }
    if let Err(error) = config.creation_tokens() {
        findings.error(error.to_string());
    }
    mail(config, findings);
}

/// Complains of a file or directory that others may read.
pub fn private(path: &Path, findings: &mut Findings) {
    let Ok(metadata) = std::fs::metadata(path) else { return };
    if metadata.permissions().mode() & 0o077 != 0 {
        let mode = if metadata.is_dir() { "700" } else { "600" };
        findings.error(format!(
            "{0} may be read by others than its owner: `chmod {mode} {0}`",
            path.display()
        ));
    }
}

fn is_unset(variable: &str) -> bool {
    std::env::var_os(variable).is_none()
}

fn store(config: &Config, findings: &mut Findings) {
    if let Some(file) = &config.store.url_file
        && is_unset(STORE_URL_VARIABLE)
    {
        private(file, findings);
    }
    match config.database() {
        Err(error) => findings.error(error.to_string()),
        Ok(Database::Sqlite) if config.process.role == Role::Intake => findings.error(
            "`process.role = \"intake\"` needs the PostgreSQL database of its engine: name it in `store.url_file`",
        ),
        Ok(_) => {}
    }
}

fn mail(config: &Config, findings: &mut Findings) {
    let Some(mail) = config.mail.as_ref().filter(|mail| mail.user.is_some()) else { return };
    if !is_unset(MAIL_PASSWORD_VARIABLE) {
        return;
    }
    let Some(file) = &mail.password_file else {
        findings.error("`mail.user` needs `mail.password_file`: name a file with the password");
        return;
    };
    private(file, findings);
    if let Err(error) = std::fs::read_to_string(file) {
        findings.error(format!("{} cannot be read: {error}", file.display()));
    }
}
