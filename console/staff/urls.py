"""Routes for signing in and out, people's own account, and the list of staff."""

from django.urls import path

from console.staff.views import directory, oidc, own, sign_in

urlpatterns = [
    path("sign-in/", sign_in.sign_in, name="sign-in"),
    path("sign-in/code/", sign_in.code, name="sign-in-code"),
    path("sign-in/company/", oidc.start, name="oidc-start"),
    path("sign-in/company/return/", oidc.back, name="oidc-return"),
    path("sign-in/company/logout/", oidc.back_channel_logout, name="oidc-back-channel-logout"),
    path("sign-out/", sign_in.sign_out, name="sign-out"),
    path("sign-out/company/", oidc.signed_out, name="oidc-sign-out"),
    path("set-password/", sign_in.set_password, name="set-password"),
    path("account/", own.account, name="account"),
    path("account/password/", own.password, name="account-password"),
    path("account/time-zone/", own.time_zone, name="account-time-zone"),
    path("account/second-factor/", own.second_factor, name="account-second-factor"),
    path("account/second-factor/remove/", own.remove_second_factor, name="account-second-factor-remove"),
    path("account/recovery-codes/", own.recovery_codes, name="account-recovery-codes"),
    path("account/sessions/end/", own.end_sessions, name="account-sessions-end"),
    path("staff/", directory.index, name="staff"),
    path("staff/new/", directory.new, name="staff-new"),
    path("staff/<str:username>/", directory.account, name="staff-account"),
    path("staff/<str:username>/change/", directory.change, name="staff-change"),
    path("staff/<str:username>/disable/", directory.disable, name="staff-disable"),
    path("staff/<str:username>/enable/", directory.enable, name="staff-enable"),
    path("staff/<str:username>/password/", directory.password, name="staff-password"),
    path(
        "staff/<str:username>/second-factor/remove/",
        directory.remove_second_factor,
        name="staff-second-factor-remove",
    ),
    path("staff/<str:username>/sessions/end/", directory.end_sessions, name="staff-sessions-end"),
]
