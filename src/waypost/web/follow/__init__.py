"""Following a link: the redirect and its hot path, the preview, the password, the QR code and reports of abuse."""
