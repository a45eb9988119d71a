"""A Django project that has nothing but django-link-shortener, whose own routes are all of its routes."""

import os

SECRET_KEY = "of a benchmark"  # noqa: S105 - it guards nothing
ALLOWED_HOSTS = ["*"]
DEBUG = False
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
INSTALLED_APPS = ["django.contrib.auth", "django.contrib.contenttypes", "shortener"]
MIDDLEWARE: list[str] = []
ROOT_URLCONF = "shortener.urls"
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "HOST": "127.0.0.1",
        "PORT": os.environ.get("BENCH_PORT", ""),
        "NAME": "django",
        "USER": "app",
        # Connections stay: a new one for each request is what its documentation warns of.
        "CONN_MAX_AGE": None,
    }
}
